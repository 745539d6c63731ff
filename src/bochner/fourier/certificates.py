"""Guarantees for a kernel that was learned over candidate frequencies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bochner.fourier.alignment import AlignmentSums
from bochner.fourier.bandwidth import check_honest
from bochner.guarantees.alignment import tightest_global_bound
from bochner.guarantees.guarantee import ConditionsNotMet, Guarantee


class CertifiedPosterior:
    """Guarantees of a map over candidates, computed from their losses on the training rows."""

    support: str
    gamma: Any
    kernel: Any
    kernel_: Any
    classes_: Any
    drawn_: Any
    weights_: Any
    posterior_: Any
    _sums: AlignmentSums
    _weighted: bool

    def bound(self, delta: float = 0.05, *, n_settings: int = 1) -> Guarantee:
        """Return a guarantee on the alignment loss of the map's own kernel, on new pairs of rows.

        This is the kernel of :meth:`transform`: the drawn or chosen frequencies with their
        weights. With probability ``1 - delta`` over the rows the guarantee holds for all draws,
        sets and posteriors at once, so that `beta` and `rho` may have been tuned on the same rows
        for free; it assumes that `gamma`, and any scaling of the columns, were fixed without
        them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of failure.
        n_settings : int, default=1
            Number of settings (of `gamma`, say) among which one was chosen on these rows.

        Returns
        -------
        Guarantee
            Guarantee on the alignment loss. The divergence is ``ln(n_candidates / D)`` for `D`
            frequencies of equal weight, and ``ln((n_candidates + D) / D)`` for ``draw="auto"``,
            where the frequencies of the random map are candidates too. A kernel unrelated to the
            labels may have a loss of ``min(1/2, 1 - sum of squared class shares)``, so that only
            a smaller value is informative.
        """
        self._check_certifiable()
        own = np.zeros(len(self._sums.sums))
        own[self.drawn_] = self.weights_
        return self._certify(own, "of the map's own kernel", delta, n_settings)

    def posterior_bound(self, delta: float = 0.05, *, n_settings: int = 1) -> Guarantee:
        """Return a guarantee on the posterior's kernel, which is *not* that of :meth:`transform`.

        It consists of all candidates with their posterior weights, and is the kernel of the
        paper's theorems. The drawn frequencies may have a larger loss; :meth:`bound` is about
        them.

        Parameters
        ----------
        delta, n_settings : see :meth:`bound`

        Returns
        -------
        Guarantee
            Guarantee on the alignment loss.
        """
        self._check_certifiable()
        scope = "of the posterior's kernel over all candidates"
        return self._certify(self.posterior_, scope, delta, n_settings)

    def _check_certifiable(self) -> None:
        check_is_fitted(self)
        if self.support == "continuous":
            raise ConditionsNotMet(
                "support='continuous' has no bound: its divergence from the prior is unknown."
            )
        if self._weighted:
            raise ConditionsNotMet("there is no bound for a fit with sample_weight.")
        check_honest(self.gamma, self.kernel_, self.kernel, self.classes_)

    def _certify(self, weights: Any, scope: str, delta: float, n_settings: int) -> Guarantee:
        found = tightest_global_bound(
            weights,
            np.clip(self._sums.losses()[: len(weights)], 0, 1),
            self._sums.n_rows,
            delta,
            n_settings=n_settings,
            shares=self._sums.shares,
        )
        return replace(found, scope=f"{scope} {found.scope}")
