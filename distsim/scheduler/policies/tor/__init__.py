"""Parts of the policy tor-affinity (../tor_affinity.py): jobs by top-of-rack switch and slice.

Words: a *switch* has up to M nodes (`tor_count`), each with its own *slice* (`slice_id`, 0 to M-1). Traffic between
switches that stays within a slice does not collide on its way down from the spines, so a job that crosses switches has
as many nodes of one slice as of any other. A job *spans* if it holds nodes of several switches.

| file | what |
|---|---|
| `topology.py` | M, tor_level, whether a topology is loaded |
| `classes.py` | large, filler, normal; what makes a job impossible |
| `usage.py` | which jobs hold nodes of which switch, and which of them span |
| `switches.py` | what a placement is made from (`View`, `Switch`) and what it is (`Plan`) |
| `version1.py`, `version2.py`, `single_layer.py` | where a job goes as a whole |
| `states.py` | states of switches, for version 2.0 |
| `reschedule.py`, `reschedule2.py` | where pods go that lost their node |
| `words.py` | sentences of refusals |

Source: cluster.md section 2; behaviour of Ascend/mind-cluster, component/ascend-for-volcano: internal/nslb/nslbv1.go,
nslbv2.go, single_layer_tor.go, util.go, frame.go and plugin/tor.go; docs/en/scheduling, page on node-based affinity.
"""
