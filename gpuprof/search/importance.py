"""How much each parameter matters: the share of the costs' variance that a forest explains by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpuprof.search.points import SearchPoints

#: Fewer trials say nothing.
MIN_TRIALS = 10


def importance(points: SearchPoints, indices: Sequence[int], costs: Sequence[float]) -> Mapping[str, float]:
    """The share by the name of each varying axis, largest first, adding up to 1; empty where too little is known.

    The decrease of variance at the cuts of a random forest over the trials' logarithmic costs (Breiman, "Random
    Forests", 2001). Needs scikit-learn: empty without it. It tells of the points that were tried, which a search
    concentrates where costs are low.
    """
    values = np.asarray(costs, dtype=np.float64)
    if len(values) < MIN_TRIALS or np.ptp(values) == 0:
        return {}
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        return {}
    rows = points.rows[np.asarray(indices, dtype=np.int64)]
    columns = np.column_stack([points.axes[number].scale[rows[:, number]] for number in points.varying])
    forest = RandomForestRegressor(100, random_state=0).fit(columns, np.log(values) if values.min() > 0 else values)
    shares = {
        points.axes[n].name: float(share) for n, share in zip(points.varying, forest.feature_importances_, strict=True)
    }
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))
