"""What stays in the cache under a budget: a policy, asked with what the database knows."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from couler.caching.asking import ask_admit, ask_credit, ask_worth
from couler.caching.eviction import (
    Candidate,
    Shortage,
    are_densities,
    is_outweighed,
    spare_unneeded,
    take,
)
from couler.caching.later_runs import Course, LaterRuns
from couler.caching.policy import CachePolicy
from couler.caching.registry import DEFAULT_POLICY, default_policy, read_policy
from couler.errors import CachePolicyError
from couler.ir.wording import counted
from couler.state.admission import Eviction, Verdict
from couler.state.entries import Entry, Offer
from couler.state.ledger import Kept, Ledger


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is kept, and what."""

    name: str
    policy: CachePolicy
    total_bytes: int | None = None
    run_bytes: int | None = None

    @classmethod
    def choose(
        cls, policy: str | None, total_bytes: int | None = None, run_bytes: int | None = None
    ) -> t.Self:
        """Return a budget with the policy of a text, the default for None."""
        if policy is None:
            return cls(DEFAULT_POLICY, default_policy(), total_bytes, run_bytes)
        return cls(policy, read_policy(policy), total_bytes, run_bytes)

    @property
    def is_limited(self) -> bool:
        """Whether there is anything to decide."""
        return self.total_bytes is not None or self.run_bytes is not None


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides on the offers of a run."""

    budget: Budget | None = None
    course: Course = field(default_factory=Course)

    @property
    def is_limited(self) -> bool:
        """Whether there is less room than for everything."""
        return self.budget is not None and self.budget.is_limited

    def settle(self, ledger: Ledger, offer: Offer) -> Verdict:
        """Decide on an offer (`couler.state.admission.Judge`)."""
        try:
            return self._settle(ledger, offer)
        except CachePolicyError as error:
            evict = tuple(self.shrink(ledger, offer.place))
            return Verdict(False, str(error), evict, age=ledger.age, failure=str(error))

    def _settle(self, ledger: Ledger, offer: Offer) -> Verdict:
        budget = self.budget
        if budget is None or not budget.is_limited:
            return Verdict(admit=True, reason="everything is kept", age=ledger.age)
        newcomer = _newcomer(offer, ledger.clock)
        refusal = _too_large(budget, offer)
        if refusal is not None:
            return self._refuse(ledger, offer, refusal)
        known = self._knowledge(ledger, newcomer, offer.place)
        refusal = ask_admit(budget.policy, offer.key, known)
        if refusal is not None:
            return self._refuse(ledger, offer, f"{budget.name}: {refusal}")
        newcomer = newcomer._replace(credit=ask_credit(budget.policy, offer.key, known))
        worth = partial(ask_worth, budget.policy, known=known.offering(newcomer))
        gone = _make_room(ledger, newcomer, budget, worth)
        if isinstance(gone, str):
            return self._refuse(ledger, offer, f"{budget.name}: {gone}")
        reason = f"{budget.name}: there is room"
        if gone:
            reason = f"{budget.name}: in place of {counted(len(gone), 'entry', 'entries')}"
        why = f"{budget.name}: of least worth when {offer.path} needed room"
        return Verdict(
            True,
            reason,
            tuple(Eviction(one.key, why) for one in gone),
            newcomer.credit,
            max([ledger.age, *(one.worth for one in gone)]),
        )

    def credit_of(self, ledger: Ledger, entry: Entry) -> float:
        """Return what the policy tells of an entry that was just hit."""
        if self.budget is None:
            return entry.credit
        fields = {name: getattr(entry, name) for name in Kept._fields}
        hit = Kept(**fields)._replace(hits=entry.hits + 1, used=ledger.clock, superseded=0)
        known = self._knowledge(ledger, hit, entry.place)
        try:
            return ask_credit(self.budget.policy, entry.key, known)
        except CachePolicyError:  # told when something is offered; a hit is one without it
            return entry.credit

    def shrink(self, ledger: Ledger, here: str | None = None) -> Iterator[Eviction]:
        """Yield what has to go for the cache to fit its budget, if nothing new comes."""
        budget = self.budget
        if budget is None or not budget.is_limited:
            return
        if here is None:
            here = max(self.course.ranks, key=self.course.ranks.__getitem__, default="")
        worth = partial(ask_worth, budget.policy, known=self._knowledge(ledger, None, here))
        why = f"{budget.name}: of least worth, and all is too much"
        gone: set[str] = set()
        for entries, limit in _shares(ledger, budget):
            left = [kept for kept in entries if kept.key not in gone]
            over = sum(kept.size_bytes for kept in left) - limit
            if over <= 0:
                continue
            in_densities = are_densities(budget.policy)
            try:
                candidates = list(_candidates(left, worth))
            except CachePolicyError as error:
                candidates = list(_candidates(left, lambda _: 0.0))
                in_densities = False
                why = f"used longest ago, and all is too much; {error}"
            taken = take(candidates, over, are_densities=in_densities)
            for one in spare_unneeded(taken, Shortage(over))[0]:
                gone.add(one.key)
                yield Eviction(one.key, why)

    def worths(self, ledger: Ledger, here: str = "") -> dict[str, float]:
        """Return what each entry is worth to the policy now, by key; none without a policy."""
        if self.budget is None:
            return {}
        known = self._knowledge(ledger, None, here)
        return {kept.key: ask_worth(self.budget.policy, kept.key, known) for kept in ledger.entries}

    def _refuse(self, ledger: Ledger, offer: Offer, why: str) -> Verdict:
        """Return a refusal; a budget that has become smaller takes effect all the same."""
        return Verdict(False, why, tuple(self.shrink(ledger, offer.place)), age=ledger.age)

    def _knowledge(self, ledger: Ledger, newcomer: Kept | None, here: str) -> LaterRuns:
        assert self.budget is not None
        return LaterRuns(
            self.budget.total_bytes or self.budget.run_bytes or 0,
            newcomer,
            lambda: ledger.entries,
            lambda: ledger.places,
            clock=ledger.clock,
            age=ledger.age,
            course=replace(self.course, here=here),
        )


def _too_large(budget: Budget, offer: Offer) -> str | None:
    """Return why something could never be kept."""
    for limit, what in ((budget.total_bytes, "the cache"), (budget.run_bytes, "each run")):
        if limit is not None and offer.size_bytes > limit:
            return f"it takes {offer.size_bytes:,} bytes, and {what} may take {limit:,}"
    return None


def _shares(ledger: Ledger, budget: Budget) -> Iterator[tuple[Sequence[Kept], int]]:
    """Yield what is under each limit, and the limit: that of each run, then that of all."""
    if budget.run_bytes is not None:
        of_runs: dict[str, list[Kept]] = defaultdict(list)
        for kept in ledger.entries:
            of_runs[kept.run_id].append(kept)
        for entries in of_runs.values():
            yield entries, budget.run_bytes
    if budget.total_bytes is not None and ledger.used_bytes() > budget.total_bytes:
        yield ledger.entries, budget.total_bytes


def _make_room(
    ledger: Ledger, newcomer: Kept, budget: Budget, worth: Callable[[str], float]
) -> list[Candidate] | str:
    """Return what goes so that a newcomer fits, or why nothing does."""
    shortages: list[Shortage] = []
    taken: list[Candidate] = []
    for limit, run_id in ((budget.run_bytes, newcomer.run_id), (budget.total_bytes, None)):
        if limit is None:
            continue
        over = ledger.used_bytes(run_id=run_id, but=newcomer.key) + newcomer.size_bytes - limit
        if over <= 0:
            continue
        of_run = [kept for kept in ledger.entries if run_id in (None, kept.run_id)]
        shortage = Shortage(over, None if run_id is None else {kept.key for kept in of_run})
        shortages.append(shortage)
        going = {newcomer.key, *(one.key for one in taken)}
        left = (kept for kept in of_run if kept.key not in going)
        missing = over - sum(map(shortage.freed_by, taken))
        taken += take(_candidates(left, worth), missing, are_densities=are_densities(budget.policy))
        if sum(map(shortage.freed_by, taken)) < over:
            return "what is pinned leaves too little room"
    gone, _ = spare_unneeded(taken, *shortages)
    if not gone:
        return gone
    own = Candidate(worth(newcomer.key), newcomer.used, newcomer.key, newcomer.size_bytes)
    if is_outweighed(own, gone, *shortages, are_densities=are_densities(budget.policy)):
        return "it is worth less than what would have to go for it"
    return gone


def _candidates(entries: Iterable[Kept], worth: Callable[[str], float]) -> Iterator[Candidate]:
    for kept in entries:
        if not kept.pinned:
            yield Candidate(worth(kept.key), kept.used, kept.key, kept.size_bytes)


def _newcomer(offer: Offer, clock: int) -> Kept:
    return Kept(
        key=offer.key,
        workflow=offer.workflow,
        path=offer.path,
        place=offer.place,
        run_id=offer.run_id,
        size_bytes=offer.size_bytes,
        cost_s=offer.cost_s,
        hits=0,
        pinned=False,
        admitted=clock,
        used=clock,
        superseded=0,
        credit=0.0,
    )
