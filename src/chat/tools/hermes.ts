// Calls as Hermes and Qwen models write them: each a JSON object between `<tool_call>` and `</tool_call>`.
import { isBlank, takesBehindBlanks, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";
import { longCallId } from "./call-ids.ts";
import {
  readBrokenArguments,
  readMarkAsText,
  readTextUntil,
  tryCall,
  type CallFormat,
} from "./call-format.ts";
import { readCallObject } from "./call-object.ts";
import { objectTag, onlyCalls, triggeredCalls } from "./call-tags.ts";

const begin = "<tool_call>";
const end = "</tool_call>";

export const hermes: CallFormat = {
  marks: [begin, end],
  newCallId: longCallId,
  *read(cursor, pieces, { areParallel }) {
    while (yield* readTextUntil(cursor, pieces, begin)) {
      if (!(yield* tryCall(cursor, () => readTagged(cursor, pieces))))
        yield* readMarkAsText(cursor, pieces, begin);
      else if (!areParallel) return;
    }
  },
  calls: (tools, areParallel) => onlyCalls({ tags: tools.map(tagOf), separator: "\n", areParallel }),
  textWithCalls: (tools, areParallel) =>
    triggeredCalls({ trigger: begin, tags: tools.map(tagOf), areParallel }),
};

const tagOf = objectTag({ before: `${begin}\n`, member: "arguments", after: `\n${end}` });

function* readTagged(cursor: Cursor, pieces: ReplyPieces): Reading<boolean> {
  yield* cursor.takes(begin);
  yield* cursor.skip(isBlank);
  const members = { arguments: ["arguments", "parameters"], isFunction: (name: string) => name !== "" };
  const outcome = yield* readCallObject(cursor, pieces, members);
  if (outcome === "broken") yield* readBrokenArguments(cursor, pieces, end);
  if (outcome !== "none") yield* takesBehindBlanks(cursor, end);
  return outcome !== "none";
}
