// Which lanes share the calls that decode their rows: a call has room for two. A pure function.

/** What two lanes gain by one call in place of two; 0 where they cannot or should not share one. */
export type PairGain<L> = (one: L, other: L) => number;

/** All lanes in their order, each once: those that gain most by it with another one. */
export function pairLanes<L>(lanes: readonly L[], gain: PairGain<L>): readonly (readonly [L, L?])[] {
  const pairs = lanes.flatMap((one, place) =>
    lanes.slice(place + 1).map((other) => ({ one, other, gain: gain(one, other) })),
  );
  const partners = new Map<L, L>();
  for (const { one, other } of pairs.filter((pair) => pair.gain > 0).toSorted((a, b) => b.gain - a.gain)) {
    if (partners.has(one) || partners.has(other)) continue;
    partners.set(one, other);
    partners.set(other, one);
  }
  const isSecond = (lane: L, place: number): boolean => {
    const partner = partners.get(lane);
    return partner !== undefined && lanes.indexOf(partner) < place;
  };
  return lanes
    .filter((lane, place) => !isSecond(lane, place))
    .map((lane) => {
      const partner = partners.get(lane);
      return partner === undefined ? [lane] : [lane, partner];
    });
}
