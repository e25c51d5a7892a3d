// Builds a call format from its description: reads calls in each of its layouts, and constrains answers to the layouts
// with `isWritten`.
import { parametersRefusal } from "../../../../base/domain/parameters/parameter-tags.ts";
import type { JsonObject } from "../../../../base/domain/text/json.ts";
import type { Cursor, Reading } from "../../reply/cursor.ts";
import type { ReplyPieces } from "../../reply/reply-pieces.ts";
import { readMarkAsText, readTextUntil, tryCall, type CallFormat, type KnownTools } from "../call-format.ts";
import { longCallId, shortCallId } from "../call-ids.ts";
import { callMarks, splitLayout, type CallLayout, type FormatDescription } from "./call-layout.ts";
import { callTag, callsTag, textTag } from "./layout-tags.ts";
import { quotedRefusal } from "./quoted-grammar.ts";
import { blockReader } from "./read-layout.ts";
import { writtenCall } from "./write-call.ts";

export function describedFormat({
  name,
  layouts,
  ids,
  isTaught = false,
  hint,
}: FormatDescription): CallFormat {
  const readers = layouts.map((layout) => ({ layout, read: blockReader(layout) }));
  const written = layouts.filter(({ isWritten }) => isWritten);

  function* read(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading {
    const readable = readers.filter(({ layout }) => layout.isWritten || !tools.isConstrained);
    const place = { cursor, pieces, tools };
    const tryEach = function* (some: typeof readers): Reading<boolean> {
      for (const reader of some) if (yield* tryCall(cursor, () => reader.read(place))) return true;
      return false;
    };
    const isCalled = yield* tryEach(readable.filter(({ layout }) => layout.isAtStart));
    if (isCalled && !tools.areParallel) return;
    const marked = readable.filter(({ layout }) => !layout.isAtStart);
    const marks = callMarks(marked.map(({ layout }) => layout));
    while (yield* readTextUntil(cursor, pieces, marks)) {
      if (!(yield* tryEach(marked))) yield* readMarkAsText(cursor, pieces, marks);
      else if (!tools.areParallel) return;
    }
  }

  return {
    name,
    isTaught,
    ...(hint === undefined ? {} : { hint }),
    marks: layouts.flatMap(textsOf),
    newCallId: (called, index) => callId(ids, called, index),
    read,
    calls: (tools, areParallel) => callsTag(written, tools, areParallel),
    textWithCalls: (tools, areParallel) => textTag(written, tools, areParallel),
    tags: (tool) => written.map((layout) => callTag(layout, tool)),
    refusal: (schema) => refusalOf(written[0], schema),
    written: (called, values) => writtenCall(written[0], { name: called, values, index: 0 }),
  };
}

/** Returns the fixed texts of a layout. Some of them may be special tokens of the tokenizer. */
function textsOf({ calls, call, parameter, quote }: CallLayout): readonly string[] {
  const texts = [calls, call, parameter ?? ""].flatMap(splitLayout);
  return [
    ...texts.flatMap((piece) => (piece.kind === "text" ? [piece.text] : [])),
    ...(quote === null ? [] : [quote]),
  ];
}

function callId(ids: FormatDescription["ids"], name: string, index: number): string {
  if (ids === "long") return longCallId();
  if (ids === "short") return shortCallId();
  return ids.replaceAll("{name}", name).replaceAll("{index}", String(index));
}

function refusalOf(layout: CallLayout, schema: JsonObject): ReturnType<CallFormat["refusal"]> {
  if (layout.parameter !== null || layout.call.includes("{keywords}")) return parametersRefusal(schema);
  return layout.quote === null ? null : quotedRefusal(schema);
}
