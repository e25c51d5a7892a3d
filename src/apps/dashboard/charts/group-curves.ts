// Divides the curves of a view into groups: pinned or most important curves first, then a group for each prefix.
import type { ChartState } from "./chart-state.ts";
import type { Curve } from "./curve.ts";

export interface CurveGroup {
  /** Title of the group; empty for a group without title. */
  readonly name: string;
  readonly curves: readonly Curve[];
  /** True if the group cannot be closed. */
  readonly isFixed: boolean;
  readonly isOpen: boolean;
}

/** Maximum number of curves that are shown without groups. */
export const flatMax = 12;
/** Number of the most important curves, which are shown first. */
const highlightCount = 6;

/** @param curves all curves of the view, the most important first */
export function groupCurves(
  curves: readonly Curve[],
  { find, pins, open }: Pick<ChartState, "find" | "pins" | "open">,
): readonly CurveGroup[] {
  const patterns = find.trim().split(/\s+/).map(patternOf);
  const found = curves.filter(({ label }) => patterns.every((pattern) => pattern.test(label)));
  const pinned = found.filter(({ label }) => pins.includes(label));
  const isFlat = found.length <= flatMax;
  const unpinned = found.filter((curve) => !pinned.includes(curve));
  const first =
    isFlat || find !== "" ? [] : found.slice(0, highlightCount).filter((curve) => unpinned.includes(curve));
  const rest = unpinned.filter((curve) => !first.includes(curve));
  const fixed = (name: string, members: readonly Curve[]): readonly CurveGroup[] =>
    members.length === 0 ? [] : [{ name, curves: members, isFixed: true, isOpen: true }];
  const top = [...fixed("Pinned", pinned), ...fixed("Most important", first)];
  if (isFlat) return [...top, ...fixed(top.length === 0 ? "" : "Others", rest)];
  const names = [...new Set(rest.map(prefixOf))];
  return [
    ...top,
    ...names.map((name) => ({
      name,
      curves: rest.filter((curve) => prefixOf(curve) === name),
      isFixed: false,
      isOpen: find !== "" || open.includes(name),
    })),
  ];
}

function prefixOf({ label }: Curve): string {
  const end = label.lastIndexOf("/");
  return end === -1 ? "other" : label.slice(0, end);
}

/** Returns a pattern for a word of a search, which may be a regular expression. */
function patternOf(word: string): RegExp {
  try {
    return new RegExp(word, "i");
  } catch {
    return new RegExp(word.replaceAll(/[^\w]/g, String.raw`\$&`), "i");
  }
}
