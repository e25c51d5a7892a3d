// Harmony, the answer format of gpt-oss. An answer consists of messages in channels: the channel `analysis` holds the
// thought; `final`, and text in `commentary`, are the answer's text; a message to a function is a call. Unlike the
// formats described by layouts, Harmony covers whole answers, including thoughts.
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { isBlank, readUntil, type Cursor, type Reading } from "../../reply/cursor.ts";
import type { ReplyPieces } from "../../reply/reply-pieces.ts";
import type { CallableTool, CallFormat, KnownTools } from "../call-format.ts";
import { longCallId } from "../call-ids.ts";
import { readGivenObject } from "../call-object.ts";
import { readBrokenArguments } from "./broken-arguments.ts";
import { jsonTextContent } from "./text-content.ts";
import { toPythonJson } from "./write-call.ts";

const marks = {
  start: "<|start|>",
  channel: "<|channel|>",
  constrain: "<|constrain|>",
  message: "<|message|>",
  end: "<|end|>",
  call: "<|call|>",
  return: "<|return|>",
} as const;

/**
 * Marks that end a message's text. They include start marks, because a model may omit the end mark and begin the next
 * message directly.
 */
const textEnds = [marks.end, marks.call, marks.return, marks.start, marks.channel];
const functions = "functions.";
/** Maximum length of a header in characters. Real headers are much shorter. */
const headerLengthMax = 1024;

export const harmonyFormat: CallFormat = {
  name: "harmony",
  isTaught: false,
  inChannels: true,
  marks: Object.values(marks),
  newCallId: () => longCallId(),
  read: readAnswer,
  calls: (tools) => afterAnalysis({ type: "or", elements: tools.map(callTag) }),
  textWithCalls: (tools, areParallel) => ({
    type: "triggered_tags",
    triggers: [`to=${functions}`],
    tags: tools.map((tool) => ({ ...callContent(tool), begin: `to=${headerOf(tool.name)}` })),
    stop_after_first: !areParallel,
  }),
  tags: (tool) => [callTag(tool), { ...callContent(tool), begin: `to=${headerOf(tool.name)}` }],
  refusal: () => null,
  written: (name, values) => `${marks.channel}commentary to=${headerOf(name)}${toPythonJson(values)}`,
  answer: (format) =>
    afterAnalysis({
      type: "sequence",
      elements: [constant(`${marks.channel}final${marks.message}`), format],
    }),
};

function* readAnswer(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading {
  const answer = { cursor, pieces, tools, hasText: false, hasThought: false };
  for (;;) {
    const header = yield* readHeader(cursor);
    if (header === null) {
      // The text is outside of any message, as written by a model that does not use channels. The next character only
      // looked like the beginning of a header, so it is read as text.
      pieces.addText(yield* cursor.peek());
      cursor.advance(cursor.rest === "" ? 0 : 1);
      yield* readUntil(
        cursor,
        { marks: [marks.start, marks.channel], isPadding: () => false },
        pieces.addText,
      );
    } else yield* readMessage(answer, header);
    if ((yield* cursor.peek()) === "") return;
    if (pieces.callCount > 0 && !tools.areParallel) return;
  }
}

interface Header {
  readonly channel: string;
  /** Recipient of the message; empty if the message is for the user. */
  readonly recipient: string;
}

/** Reads the header of a message, with the mark after it. Returns null and reads nothing if no header comes next. */
function* readHeader(cursor: Cursor): Reading<Header | null> {
  cursor.keep();
  for (const mark of [marks.end, marks.call, marks.return]) while (yield* cursor.takes(mark));
  const isStarted = yield* cursor.takes(marks.start);
  let text = "";
  // The first message of an answer may lack the start mark, because the prompt has already begun its header.
  if (isStarted || (yield* seesHeader(cursor))) {
    while (text.length <= headerLengthMax && !(yield* cursor.sees(marks.message))) {
      const character = yield* cursor.peek();
      if (character === "") break;
      text += character;
      cursor.advance(1);
    }
    if (yield* cursor.takes(marks.message)) {
      cursor.release();
      const [, channel = ""] = /<\|channel\|>\s*(\w+)/.exec(text) ?? [];
      const [, recipient = ""] = /\bto=([^\s<]+)/.exec(text) ?? [];
      return { channel, recipient: recipient === "assistant" ? "" : recipient };
    }
  }
  cursor.goBack();
  return null;
}

function* seesHeader(cursor: Cursor): Reading<boolean> {
  if (yield* cursor.sees(marks.channel)) return true;
  yield* cursor.skip(isBlank);
  return yield* cursor.sees("to=");
}

interface HalfReadAnswer {
  readonly cursor: Cursor;
  readonly pieces: ReplyPieces;
  readonly tools: KnownTools;
  hasText: boolean;
  hasThought: boolean;
}

function* readMessage(answer: HalfReadAnswer, { channel, recipient }: Header): Reading {
  const { cursor, pieces, tools } = answer;
  const name = recipient.startsWith(functions) ? recipient.slice(functions.length) : recipient;
  const isCall = name !== "" && (recipient !== name || tools.functions.has(name));
  if (isCall && tools.functions.size > 0) {
    pieces.beginCall(name);
    yield* readArguments(cursor, pieces);
  } else if (channel === "analysis") {
    if (answer.hasThought) pieces.addReasoning("\n");
    answer.hasThought = true;
    yield* readText(cursor, pieces.addReasoning);
  } else {
    if (answer.hasText) pieces.addText("\n");
    answer.hasText = true;
    yield* readText(cursor, pieces.addText);
  }
  // Reads the end mark of the message. There is none if the next header, or the end of the text, has ended the message.
  for (const mark of [marks.end, marks.call, marks.return]) if (yield* cursor.takes(mark)) return;
}

function* readArguments(cursor: Cursor, pieces: ReplyPieces): Reading {
  yield* cursor.skip(isBlank);
  if ((yield* cursor.peek()) !== "{") {
    yield* readText(cursor, pieces.addArguments);
    return;
  }
  const { given, broken } = yield* readGivenObject(cursor, pieces);
  if (broken !== null)
    yield* readBrokenArguments(cursor, pieces, { marks: textEnds, own: "", given, broken });
  // Drops blanks, and any text that the model adds after the arguments' object.
  else yield* readText(cursor, () => undefined);
}

function* readText(cursor: Cursor, give: (text: string) => void): Reading {
  if (!(yield* readUntil(cursor, { marks: textEnds, isPadding: () => false }, give))) give(cursor.takeRest());
}

function headerOf(name: string): string {
  return `${functions}${name} ${marks.constrain}json${marks.message}`;
}

/**
 * Returns the structural tag for calls of a tool. The tag ends with the arguments, because the mark that ends a call is
 * a stop token of the model.
 */
function callTag(tool: CallableTool): Json {
  return { ...callContent(tool), begin: `${marks.channel}commentary to=${headerOf(tool.name)}` };
}

function callContent({ schema, textRule }: CallableTool): JsonObject {
  const content =
    textRule === undefined ? { type: "json_schema", json_schema: schema } : jsonTextContent(textRule);
  return { type: "tag", content, end: "" };
}

/** Returns a format that allows a thought (an `analysis` message) before the given format. */
function afterAnalysis<Format>(format: Format): {
  readonly type: string;
  readonly elements: readonly (JsonObject | Format)[];
} {
  const analysis = {
    type: "tag",
    begin: `${marks.channel}analysis${marks.message}`,
    content: { type: "any_text" },
    end: `${marks.end}${marks.start}assistant`,
  };
  const optional: JsonObject = { type: "optional", content: analysis };
  return { type: "sequence", elements: [optional, format] };
}

function constant(value: string): Json {
  return { type: "const_string", value };
}
