// Calls as Llama 3 models write them: an answer that is JSON objects with a known function's name, `;` between them, and
// `<|python_tag|>` before them or not. An object anywhere else in an answer is text.
import { isBlank, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";
import { readBrokenArguments, readRest, tryCall, type CallFormat, type KnownTools } from "./call-format.ts";
import { longCallId } from "./call-ids.ts";
import { readCallObject } from "./call-object.ts";
import { objectTag, onlyCalls } from "./call-tags.ts";

const mark = "<|python_tag|>";

/** A text that begins neither as an object nor with the mark, and so is no call. */
const noCall = "\\s*(?:[^{<\\s][\\s\\S]*|<(?:[^|][\\s\\S]*)?)?";

export const llama3: CallFormat = {
  marks: [mark],
  newCallId: longCallId,
  *read(cursor, pieces, tools) {
    let isCall = yield* tryCall(cursor, () => readOne(cursor, pieces, { ...tools, before: mark }));
    while (isCall && tools.areParallel)
      isCall = yield* tryCall(cursor, () => readOne(cursor, pieces, { ...tools, before: ";" }));
    if (!isCall) yield* readRest(cursor, pieces);
  },
  calls: (tools, areParallel) => onlyCalls({ tags: tools.map(tagOf), separator: "; ", areParallel }),
  textWithCalls: (tools, areParallel) => ({
    type: "or",
    elements: [llama3.calls(tools, areParallel), { type: "regex", pattern: noCall }],
  }),
};

const tagOf = objectTag({ member: "parameters" });

function* readOne(
  cursor: Cursor,
  pieces: ReplyPieces,
  { names, before }: KnownTools & { readonly before: string },
): Reading<boolean> {
  yield* cursor.takes(before);
  yield* cursor.skip(isBlank);
  const members = { arguments: ["parameters", "arguments"], isFunction: (name: string) => names.has(name) };
  const outcome = yield* readCallObject(cursor, pieces, members);
  if (outcome === "broken") yield* readBrokenArguments(cursor, pieces, null);
  return outcome !== "none";
}
