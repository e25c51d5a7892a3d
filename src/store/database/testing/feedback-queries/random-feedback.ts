// For tests: random feedback with unusual content. Examples are values of every type under the same name, texts that
// look like patterns, numbers beyond exact integers, and names that look like paths.
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import type { Random } from "../../../../base/domain/random.ts";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";

export const texts: readonly string[] = [
  "",
  "good",
  "Good job",
  "100%",
  "a_b",
  "a*b?[c]",
  "\\",
  'it\'s "quoted"',
  "line\nbreak\ttab",
  "é",
  "É",
  "\u{1f44d}",
  "\u{1f44d}\u{1f3fd}",
  "\uffff",
  "null",
  "true",
  "false",
  "10",
  "9",
  "-1.5e2",
  "0.30000000000000004",
  "9007199254740993",
  " 7",
  "1e999",
  "[1]",
  "nul\0inside",
  "half \ud83d",
  "%' or 1=1 --",
];

export const numbers: readonly number[] = [
  0,
  1,
  -1.5,
  9,
  10,
  0.5,
  0.1 + 0.2,
  1e21,
  1e-7,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 62,
  -1e300,
  1.7976931348623157e308,
];

/** Paths of payload values, as queries write them. */
export const payloadPaths: readonly string[] = [
  "score",
  "note",
  "list",
  "list.0",
  "list.1",
  "deep.a.b",
  "deep.list.0.value",
  "a\\.b",
  "\\7",
  'odd "name"',
  "emoji",
  "none",
  "list.name",
];

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random.uniform() * items.length)];
}

function scalar(random: Random): Json {
  const kind = random.uniform();
  if (kind < 0.4) return pick(random, numbers);
  if (kind < 0.8) return pick(random, texts);
  return pick(random, [true, false, null]);
}

function anyValue(random: Random, depth = 0): Json {
  const kind = random.uniform();
  if (depth > 2 || kind < 0.8) return scalar(random);
  const items = Array.from({ length: Math.floor(random.uniform() * 3) }, () => anyValue(random, depth + 1));
  return kind < 0.9 ? items : { name: items[0] ?? null, value: 1 };
}

function payloadOf(random: Random): JsonObject {
  const payload: Record<string, Json> = {};
  const maybe = (name: string, value: () => Json): void => {
    if (random.uniform() < 0.7) payload[name] = value();
  };
  maybe("score", () => scalar(random));
  maybe("note", () => anyValue(random));
  maybe("list", () => (random.uniform() < 0.2 ? scalar(random) : [anyValue(random), anyValue(random)]));
  maybe("deep", () => ({ a: { b: scalar(random) }, list: [{ value: scalar(random) }] }));
  maybe("a.b", () => scalar(random));
  maybe("7", () => scalar(random));
  maybe('odd "name"', () => scalar(random));
  maybe("emoji", () => pick(random, ["\u{1f44d}", "\u{1f44e}", 5]));
  // Adds more numbers than the index takes from one record.
  if (random.uniform() < 0.02) payload["many"] = Array.from({ length: 40 }, (_, index) => index);
  return payload;
}

const count = (random: Random, max: number): number => Math.floor(random.uniform() * max);

export function randomRecord(random: Random, index: number): FeedbackRecord {
  const nullable = (texts_: readonly string[]): string | null =>
    random.uniform() < 0.5 ? null : pick(random, texts_);
  return {
    id: `r${index}`,
    projectId: random.uniform() < 0.95 ? "team/games" : "team/other",
    vendorRef: `w:///team/games/call/${count(random, 50)}`,
    feedbackType: pick(random, ["note", "score", "vendor.reaction.1"]),
    payload: payloadOf(random),
    creator: nullable(texts),
    annotationRef: nullable(["w:///team/games/object/a:1"]),
    runnableRef: null,
    callRef: nullable(["w:///team/games/call/1"]),
    triggerRef: null,
    queueId: random.uniform() < 0.9 ? null : pick(random, ["q1", "q2"]),
    createdAt: new Date(Date.UTC(2026, 0, 1) + count(random, 1000) * 777),
    vendorUserId: pick(random, ["ann", "bob"]),
    contentHash: `h${index}`,
  };
}
