"""How Slurm spells a node (collector/formats/node_names.py)."""

from __future__ import annotations

from collector.formats.node_names import NodeNames


def test_a_node_is_spelt_as_slurm_spells_it() -> None:
    full = NodeNames({"gpu01.hpc.site", "gpu02.hpc.site", "login.a", "login.b"})
    assert full.spelt("gpu01") == full.spelt("gpu01.hpc.site") == "gpu01.hpc.site"
    assert full.spelt("gpu01.elsewhere") == "gpu01.elsewhere", "another host of the same first name"
    assert full.spelt("login") == "login", "either of two"
    assert full.spelt("gpu03") == "gpu03"
    short = NodeNames({"gpu01", "10"})
    assert short.spelt("gpu01.hpc.site") == "gpu01"
    assert short.spelt("10.0.0.7") == "10.0.0.7"


def test_a_domain_falls_only_where_no_name_of_the_jobs_could_be_meant() -> None:
    rack = NodeNames({"r4.gpu01", "r4.gpu02"})
    assert rack.host("r4.gpu01.cluster.local") == "r4.gpu01"
    assert rack.host("r4.gpu99.cluster.local") == "r4.gpu99.cluster.local", "an idle neighbour, not the rack"
    assert rack.host("gpu7.cluster.local") == "gpu7"
    assert NodeNames({"gpu01.hpc.site"}).host("gpu01.elsewhere") == "gpu01.elsewhere", "not our gpu01"
    assert NodeNames().host("gpu01.hpc.site") == "gpu01"
    assert NodeNames({"10"}).host("10.0.0.7") == "10.0.0.7"


def test_a_host_minds_no_capitals() -> None:
    names = NodeNames({"gpu01", "Fat1", "fat1"})
    assert names.host("GPU01.CORP.LOCAL") == names.spelt("Gpu01") == "gpu01"
    assert names.spelt("Fat1") == "Fat1"
    assert names.spelt("FAT1") == "FAT1", "either of two"


def test_an_address_or_a_host_s_name_that_slurm_tells_is_the_node() -> None:
    names = NodeNames(
        {"st-1", "st-2"}, {"10.0.3.7": "st-1", "ip-10-0-3-8": "st-2", "st-2": "st-1", "10.0.3.9": "idle-3"}
    )
    assert names.host("10.0.3.7") == "st-1"
    assert names.host("ip-10-0-3-8.ec2.internal") == "st-2"
    assert names.host("st-2") == "st-2", "a node's own name comes first"
    assert names.host("10.0.3.9") == "10.0.3.9", "no node of the jobs"
