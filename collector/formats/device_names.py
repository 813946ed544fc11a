"""Names of disks, interfaces and file systems that stand for nothing physical, or for something counted elsewhere."""

from __future__ import annotations

import re

NO_DISK = re.compile(r"(?:dm-|loop|md|sr|ram|zram|nbd)")
NO_NET = re.compile(r"(?:lo$|veth|docker|br-|cali|cni|virbr|bond|flannel|tunl|vxlan)")
PSEUDO = re.compile(
    r"(?:rootfs|squashfs|proc|sysfs|cgroup|devpts|nsfs|autofs|ramfs|mqueue|efivarfs|overlay|devtmpfs|debugfs|tracefs|"
    r"securityfs|pstore|bpf|configfs|fusectl|hugetlbfs|binfmt_misc|rpc_pipefs|selinuxfs)"
)
REMOTE = re.compile(
    r"(?:nfs|lustre|gpfs|beegfs|ceph|fuse|cifs|smb|9p|glusterfs|pvfs|orangefs|wekafs|panfs|afs|virtiofs)"
)
