// The runs in the address of the view Runs: the place of a run is its number, which decides its lines. A removed run
// leaves its place empty, so that the other runs keep their lines. Has no side effects.

/** Returns the place of each run. */
export function runPlaces(ids: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, id] of ids.split(",").entries()) if (id !== "" && !places.has(id)) places.set(id, place);
  return places;
}

/** Returns the address's text with a further run, which gets the first empty place. */
export function withRun(ids: string, id: string): string {
  const all = ids.split(",");
  const empty = all.indexOf("");
  return (empty === -1 ? [...all, id] : all.with(empty, id)).join();
}

export function withoutRun(ids: string, id: string): string {
  const all = ids.split(",").map((other) => (other === id ? "" : other));
  return all.join().replace(/,+$/, "");
}
