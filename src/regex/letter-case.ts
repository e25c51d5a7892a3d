// Which characters differ only in case, as the JavaScript engine knows it (ECMA-262, Canonicalize with the flag u: the
// simple case folding of Unicode).
import { pointsOf, rangesOf, unitedPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";

/** No character behind this has a case: it is the last letter of the Adlam script. */
const lastCasedPoint = 0x1e943;

let casedCharacters: string | null = null;

/** The characters of the set, and those that differ from one of them in case only. */
export function inEitherCase(set: CodePoints): CodePoints {
  casedCharacters ??= everyCasedCharacter();
  if (set.length === 0) return set;
  const members = rangesOf(set).map(([low, high]) => `${escaped(low)}-${escaped(high)}`);
  const matches = casedCharacters.match(new RegExp(`[${members.join("")}]`, "giu")) ?? [];
  return unitedPoints(set, pointsOf(matches.join("")));
}

const escaped = (point: number): string => `\\u{${point.toString(16)}}`;

function everyCasedCharacter(): string {
  let characters = "";
  for (let point = 0; point <= lastCasedPoint; point++) {
    const character = String.fromCodePoint(point);
    if (character.toLowerCase() !== character || character.toUpperCase() !== character)
      characters += character;
  }
  return characters;
}
