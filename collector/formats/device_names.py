"""Names of disks, interfaces and file systems that stand for nothing physical, or for something counted elsewhere."""

from __future__ import annotations

from store import lazy

NO_DISK = lazy.compile(r"(?:dm-|loop|md|sr|ram|zram|nbd)")
NO_NET = lazy.compile(r"(?:lo$|veth|docker|br-|cali|cni|virbr|bond|flannel|tunl|vxlan)")
PSEUDO = lazy.compile(
    r"(?:rootfs|squashfs|proc|sysfs|cgroup|devpts|nsfs|autofs|ramfs|mqueue|efivarfs|overlay|devtmpfs|debugfs|tracefs|"
    r"securityfs|pstore|bpf|configfs|fusectl|hugetlbfs|binfmt_misc|rpc_pipefs|selinuxfs)"
)
REMOTE = lazy.compile(
    r"(?:nfs|lustre|gpfs|beegfs|ceph|fuse|cifs|smb|9p|glusterfs|pvfs|orangefs|wekafs|panfs|afs|virtiofs)"
)
