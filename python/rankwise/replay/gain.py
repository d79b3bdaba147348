# SPDX-License-Identifier: BSD-3-Clause
"""Whether a placement is known to be better than another: predictions of two placements are not exact to a percent."""

from __future__ import annotations

import numpy as np

from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor

# Predictions of several placements of a program, all scaled so that the recorded one is exact, were off by 8 % in the
# median in earlier labs; of placements predicted to save less than this as many took longer as took less time.
LEAST_GAIN = 0.1


def is_better(
    predictor: Predictor, placement: Placement, present: Placement, least: float = LEAST_GAIN
) -> bool:
    """Whether a placement is known to be faster than the present one.

    It is if it saves more than `least` of the time that the program takes, and saves time with the machine's numbers
    drawn anew, too. Time that the recorded run took beyond what is predicted of it is time that no placement is
    known to save. Where no run of the program on this machine is known there is no present placement to keep.

    Args:
        predictor: Of the program on the machine.
        placement: What may be better.
        present: What is there.
        least: Share of the time.
    """
    if predictor.run is None:
        return True
    then = predictor.makespan_s(present)
    saved = then - predictor.makespan_s(placement)
    unknown = max(1.0, predictor.run.recorded_s / (predictor.run.predicted_s * predictor.scale))
    if saved <= least * then * unknown:
        return False
    drawn = predictor.drawn_s(present) - predictor.drawn_s(placement)
    return not len(drawn) or float(np.quantile(drawn, (1 - predictor.machine.confidence) / 2)) > 0
