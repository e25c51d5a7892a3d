// Calls as Mistral models write them, in the two layouts they have had: `[TOOL_CALLS]` before a JSON list of calls, and, in
// newer ones, `[TOOL_CALLS]` before each call, which is a name, `[ARGS]` and the arguments. Both are read wherever one is.
import { isBlank, takesBehindBlanks, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";
import type { Json } from "../../domain/trajectory.ts";
import {
  readBrokenArguments,
  readMarkAsText,
  readTextUntil,
  tryCall,
  type CallableTool,
  type CallFormat,
  type KnownTools,
} from "./call-format.ts";
import { shortCallId } from "./call-ids.ts";
import { readCallObject, readObject } from "./call-object.ts";
import { argumentsOf, objectTag, onlyCalls, pattern, sequence, triggeredCalls } from "./call-tags.ts";

const begin = "[TOOL_CALLS]";
const beginArguments = "[ARGS]";
const beginId = "[CALL_ID]";

const reading: Pick<CallFormat, "marks" | "newCallId" | "read"> = {
  marks: [begin, beginArguments, beginId],
  newCallId: shortCallId,
  *read(cursor, pieces, tools) {
    while (yield* readTextUntil(cursor, pieces, begin)) {
      if (!(yield* tryCall(cursor, () => readMarked(cursor, pieces, tools))))
        yield* readMarkAsText(cursor, pieces, begin);
      else if (!tools.areParallel) return;
    }
  },
};

/** The older layout. */
export const mistralList: CallFormat = {
  ...reading,
  calls: listTag,
  textWithCalls: (tools, areParallel) =>
    triggeredCalls({ trigger: begin, tags: [listTag(tools, areParallel)], areParallel: false }),
};

/** The newer layout. */
export const mistralNamed: CallFormat = {
  ...reading,
  calls: (tools, areParallel) => onlyCalls({ tags: tools.map(namedTag), separator: "", areParallel }),
  textWithCalls: (tools, areParallel) =>
    triggeredCalls({ trigger: begin, tags: tools.map(namedTag), areParallel }),
};

/** Some versions put a blank before the list, and an id into each call; a model may write what it was taught. */
function listTag(tools: readonly CallableTool[], areParallel: boolean): Json {
  const tags = tools.map(objectTag({ member: "arguments", more: `, "id": "${idPattern}"` }));
  const calls = onlyCalls({ tags, separator: ", ", areParallel });
  return { type: "tag", begin, content: sequence(pattern(" ?\\["), calls), end: "]" };
}

/** Some versions put an id between name and arguments. */
function namedTag(tool: CallableTool): Json {
  const id = pattern(`(?:\\[CALL_ID\\]${idPattern})?\\[ARGS\\]`);
  return { type: "tag", begin: `${begin}${tool.name}`, content: sequence(id, argumentsOf(tool)), end: "" };
}

const idPattern = "[a-zA-Z0-9]{9}";

function* readMarked(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading<boolean> {
  yield* cursor.takes(begin);
  yield* cursor.skip(isBlank);
  return (yield* cursor.takes("["))
    ? yield* readList(cursor, pieces, tools)
    : yield* readNamed(cursor, pieces);
}

function* readList(cursor: Cursor, pieces: ReplyPieces, { areParallel }: KnownTools): Reading<boolean> {
  yield* cursor.skip(isBlank);
  if (!(yield* readItem(cursor, pieces))) return false;
  let isFurther = areParallel;
  while (isFurther) isFurther = yield* tryCall(cursor, () => readFurtherItem(cursor, pieces));
  yield* takesBehindBlanks(cursor, "]");
  return true;
}

function* readFurtherItem(cursor: Cursor, pieces: ReplyPieces): Reading<boolean> {
  if (!(yield* cursor.takes(","))) return false;
  yield* cursor.skip(isBlank);
  return yield* readItem(cursor, pieces);
}

function* readItem(cursor: Cursor, pieces: ReplyPieces): Reading<boolean> {
  const members = { arguments: ["arguments"], isFunction: (name: string) => name !== "" };
  const outcome = yield* readCallObject(cursor, pieces, members);
  if (outcome === "broken") yield* readBrokenArguments(cursor, pieces, begin);
  return outcome !== "none";
}

function* readNamed(cursor: Cursor, pieces: ReplyPieces): Reading<boolean> {
  const name = yield* cursor.skip((character) => /[\w.-]/.test(character));
  if (yield* cursor.takes(beginId)) yield* cursor.skip((character) => /\w/.test(character));
  yield* cursor.takes(beginArguments);
  if (name === "" || (yield* cursor.peek()) !== "{") return false;
  cursor.release();
  pieces.beginCall(name);
  if (!(yield* readObject(cursor, pieces.addArguments))) yield* readBrokenArguments(cursor, pieces, begin);
  return true;
}
