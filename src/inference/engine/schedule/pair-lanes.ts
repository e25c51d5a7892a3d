// Chooses pairs of lanes that decode their rows in a shared call; such a call has room for two lanes.

/** Returns the gain of one call for two lanes over two calls; 0 if the lanes cannot or should not share a call. */
export type PairGain<L> = (one: L, other: L) => number;

/** Divides lanes into pairs and single lanes, in the order of the lanes. Pairs with larger gains are formed first. */
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
