"""The training processes of a job through a fault: they stop, reset.json is written, agents act, they start again."""

from __future__ import annotations

from collections.abc import Callable

from distsim.scheduler.faults.agent import Act, Agent
from distsim.scheduler.faults.care import Care, Stop, Ward, Way, entries_of, processes_of, running
from distsim.scheduler.session.gang import min_available, ready
from distsim.scheduler.types import Task

Evict = Callable[[Care, list[Task]], None]


class Processes:
    """Keeps agents and reset.json of jobs in step. evict : what is done when the agent of some pods has ended."""

    def __init__(self, ward: Ward, evict: Evict):
        self.ward, self._evict = ward, evict

    def enter(self, care: Care) -> None:
        """Take a job in whose processes have run until now."""
        self._sync(care)
        for agent in care.agents.values():
            agent.alive = agent.training = True

    def halt(self, care: Care, why: str, keeps: bool = False) -> None:
        """All processes stop because one has gone. A graver stop than the one in progress takes its place."""
        for agent in care.agents.values():
            agent.pause()
        if care.stop is None:
            care.stops.append(Stop(why, self.ward.now_ms, keeps=keeps))
            self.ward.say("stopped", care.job, why)
        else:
            care.stop.why = why
            care.stop.keeps = care.stop.keeps and keeps

    def gather(self, care: Care) -> None:
        """More faults may follow: the list of failed ranks is written a little later (FaultFlushing)."""
        care.reset.flush(self.ward.now_ms)
        care.flush_ms, care.listed = self.ward.now_ms + self.ward.times.flush, False

    def advance(self, care: Care) -> bool:
        """Write what is due in reset.json and let the agents read it; whether something has changed."""
        changed = self._write(care)
        self._sync(care)
        if care.stop is None and not all(agent.alive for agent in care.agents.values()):
            self.halt(care, "joined")
        if care.blocked:
            for agent in care.agents.values():
                agent.pause()
            return changed
        changed = self.read(care) or changed
        if care.stop is not None and self._trains(care):
            care.stop.ended_ms = self.ward.now_ms
            self.ward.say("started", care.job, f"after {self.ward.now_ms - care.stops[-1].began_ms} ms "
                                               f"({care.stops[-1].why})")
            changed = True
        return changed

    def read(self, care: Care) -> bool:
        """Let every agent read reset.json; whether a pod or process is affected."""
        changed = False
        for agent in list(care.agents.values()):
            act = agent.read(care.reset)
            if act is Act.SAVED and care.stop is not None:
                care.stop.saved = True
                self.ward.say("saved", care.job, "GracefulExit is 1: the processes save and end", node=agent.node)
            elif act is Act.RESTARTED:
                self._restarted(care, agent)
            elif act is Act.ENDED:
                self._evict(care, [task for task in running(care.job) if task.node == agent.node])
            changed = changed or act in (Act.RESTARTED, Act.ENDED)
        return changed

    def _restarted(self, care: Care, agent: Agent) -> None:
        """The faulty processes of a node run again: they are no cause any more."""
        done = [cause for cause in care.causes.values() if cause.way is Way.IN_PLACE and cause.node == agent.node]
        for cause in done:
            ranks = [rank for rank, _ in cause.ranks]
            care.reset.recover(ranks, self.ward.now_ms)
            del care.causes[cause.task.name]
            self.ward.say("restarted", care.job, f"processes {', '.join(map(str, ranks))} start again in their pod",
                          cause.task)

    def _write(self, care: Care) -> bool:
        now_ms, reset = self.ward.now_ms, care.reset
        if care.flush_ms is not None and now_ms >= care.flush_ms:
            care.flush_ms = None
            if care.causes:
                in_place = any(cause.way is Way.IN_PLACE for cause in care.causes.values())
                reset.report(entries_of(care.causes.values()), now_ms, in_place)
                care.listed = True
            else:
                self._clear(care)
            return True
        if not care.causes and care.flush_ms is None and (care.listed or reset.graceful_exit):
            self._clear(care)
            return True
        return False

    def _clear(self, care: Care) -> None:
        care.reset.clear(self.ward.now_ms, care.restart_all)
        care.listed = care.restart_all = False

    def _sync(self, care: Care) -> None:
        """An agent for every node with a running pod of the job, new where the processes are others."""
        ranks, by_node = processes_of(care.job), dict[str, list[int]]()
        for task in running(care.job):
            by_node.setdefault(task.node or "", []).extend(ranks.get(task.name, ()))
        agents = {}
        for node, numbers in by_node.items():
            known = care.agents.get(node)
            same = known is not None and known.ranks == tuple(sorted(numbers)) and not known.ended
            agents[node] = known if same and known is not None else Agent(node, tuple(sorted(numbers)))
        care.agents = agents

    def _trains(self, care: Care) -> bool:
        idle = not care.causes and not care.releasing and not care.hot and care.flush_ms is None and not care.listed
        return (idle and ready(care.job) >= min_available(care.job)
                and all(agent.training for agent in care.agents.values()))
