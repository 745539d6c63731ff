"""Drawing frequencies from a posterior over candidates, given their losses but not the rows."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bochner.base import SupervisedFeatureMap, n_pairs
from bochner.fourier.candidates import Candidates
from bochner.fourier.certificates import CertifiedPosterior
from bochner.fourier.posterior import (
    draw_with_replacement,
    draw_without_replacement,
    gibbs_log_weights,
    gibbs_posterior,
    heaviest,
    power_log_weights,
    power_posterior,
)

SETS = ("auto", "orthogonal")  # choose a set; the other draws weigh single frequencies
_DRAWN = "without_replacement"


def _has_candidates(posterior: DrawnPosterior) -> bool:
    if posterior.support != "candidates":
        raise AttributeError(f"support={posterior.support!r}: it needs support='candidates'.")
    return True


def looks_once(posterior: DrawnPosterior) -> bool:
    """Whether one pass over the rows is enough; raises an AttributeError if it is not."""
    if posterior.draw in SETS:
        raise AttributeError(
            f"draw={posterior.draw!r} looks at the rows several times: rows in parts need "
            f"draw={_DRAWN!r}, 'with_replacement' or 'heaviest'."
        )
    return _has_candidates(posterior)


class DrawnPosterior(CertifiedPosterior, SupervisedFeatureMap):
    """A map whose frequencies are drawn from a posterior over candidates."""

    n_components: int
    n_candidates: int
    divergence: str
    beta: float
    rho: float
    mu: float
    draw: str
    criterion: str
    losses_: Any
    scores_: Any
    frequencies_: Any
    _candidates: Candidates
    _draw_seed: int
    _dtype: Any

    @available_if(_has_candidates)  # type: ignore[untyped-decorator]
    def with_posterior(self, **changes: Any) -> Self:
        """Return the map drawn from another posterior, without looking at the data again.

        The new posterior is computed from the same losses.

        Parameters
        ----------
        **changes
            New values for `n_components`, `divergence`, `beta`, `rho`, `mu`, `draw` or
            `criterion`. A set cannot be chosen without the rows: where this map has one, `draw`
            is ``"without_replacement"`` unless another is given.

        Returns
        -------
        PosteriorFourierFeatures
            A fitted copy; this one is unchanged. Costs O(n_candidates).
        """
        check_is_fitted(self, "losses_")
        allowed = {"n_components", "divergence", "beta", "rho", "mu", "draw", "criterion"}
        if not set(changes) <= allowed:
            wrong = sorted(set(changes) - allowed)[0]
            raise ValueError(
                f"{wrong} cannot be changed without the data; only {sorted(allowed)}."
            )
        if self.draw in SETS:
            changes = {"draw": _DRAWN, **changes}
        other = copy(self).set_params(**changes)
        other._validate_params()
        if other.draw in SETS:
            raise ValueError(f"draw={other.draw!r} needs the rows: call fit.")
        vars(other).pop("n_chosen_", None)
        other._learn_posterior()
        other._draw()
        return other

    def _n_frequencies(self) -> int:
        n = n_pairs(self.n_components)
        if self.support == "candidates" and n > self.n_candidates:
            raise ValueError(
                f"n_components={self.n_components} needs {n} frequencies, but there are only "
                f"n_candidates={self.n_candidates}."
            )
        return n

    def _learn_posterior(self) -> None:
        agreement = self._sums.agreement(centred=self.criterion == "centred")
        self.scores_ = agreement[: len(self.losses_)]
        losses = 0.5 - self.scores_ / 2
        if self.divergence == "kl":
            self.posterior_ = gibbs_posterior(losses, self.beta, self._sums.count)
        else:
            self.posterior_ = power_posterior(losses, self.rho * len(losses), self.mu)

    def _draw(self) -> None:
        n, losses = self._n_frequencies(), 0.5 - self.scores_ / 2
        random_state = np.random.RandomState(self._draw_seed)
        if self.draw == "without_replacement":
            if self.divergence == "kl":
                logarithms = gibbs_log_weights(losses, self.beta, self._sums.count)
            else:
                logarithms = power_log_weights(self.posterior_, losses)
            index = draw_without_replacement(logarithms, n, random_state)
            weights = np.full(n, 1 / n)
        elif self.draw == "with_replacement":
            index, weights = draw_with_replacement(self.posterior_, n, random_state)
        else:
            index, weights = heaviest(self.posterior_, n)
        self.drawn_ = index
        self.frequencies_ = self._candidates.take(index, self._dtype)
        self.weights_ = weights
