"""Hot recovery of a chip while its pod stays (restartType hotReset): wait for the error to go, restart, reset, isolate.

Source: restartRequestProcess, restartProcess, resetProcess and upgradeRestartProcess in
component/ascend-device-plugin/pkg/device/ascend910.go, and its times in pkg/common.
"""

from __future__ import annotations

from dataclasses import dataclass

from distsim.scheduler.faults.levels import ISOLATE, REQUEST, RESET, RESTART
from distsim.scheduler.faults.reset_json import FAILED, RECOVERED, UNRECOVERED

HANDLED = (REQUEST, RESTART, RESET)      # policies that are handled in place; free_reset and isolate are not


@dataclass(frozen=True)
class Times:
    """How long the steps take, in milliseconds.

    flush : from a fault to the list of the faulty ranks (clusterd, faultFlushSeconds). error_clean : how long the error
    of a RestartRequest may take to go. self_healing : the same after the restart of a RestartBusiness. reset : of a
    chip; upstream waits no longer than this. npu_ready : from the end of a reset to a chip that can be used.
    backup : until a backup pod runs.
    """

    flush: int = 1_000
    error_clean: int = 30_000
    self_healing: int = 15_000
    reset: int = 150_000
    npu_ready: int = 30_000
    backup: int = 0


class HotReset:
    """The steps for one task. policy, initial, status : as in RankList; the policy becomes graver step by step.

    due_ms : when the step in progress is over, None when all are. cleans : the reset is over and has ended the fault.
    """

    def __init__(self, policy: str, times: Times, now_ms: int):
        assert policy in HANDLED
        self.policy = self.initial = policy
        self.status = UNRECOVERED
        self.times = times
        self.cleans = False
        self._resetting = policy == RESET
        first = {REQUEST: times.error_clean, RESTART: times.self_healing, RESET: times.reset}
        self.due_ms: int | None = now_ms + first[policy]

    def advance(self, now_ms: int, faulty: bool, curable: bool) -> bool:
        """Go on as far as the time allows; whether something has changed.

        faulty : whether the chip still has its fault. curable : whether a reset ends it.
        """
        if self.due_ms is None:
            return False
        if self.cleans:
            return now_ms >= self.due_ms and self._over(RECOVERED)
        if self.policy == REQUEST and not faulty:
            return self._over(RECOVERED)
        if now_ms < self.due_ms:
            return False
        if not faulty and not self._resetting:
            return self._over(RECOVERED)
        if not self._resetting:
            self.policy, self._resetting, self.due_ms = RESET, True, now_ms + self.times.reset
            return True
        if faulty and not curable:
            self.policy = ISOLATE
            return self._over(FAILED)
        self.cleans, self.due_ms = True, now_ms + self.times.npu_ready
        return True

    def _over(self, status: str) -> bool:
        self.status, self.due_ms = status, None
        return True
