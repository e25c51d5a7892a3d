// Values, names and texts that often cause errors, each in the form in which it is sent. Long texts repeat one marker,
// so a check can recognize an answer that repeats such a text.
import type { Random } from "../../src/base/domain/random.ts";

/** Text that is repeated to make long texts. */
export const marker = "Zq7";

export function longText(length: number): string {
  return marker.repeat(Math.ceil(length / marker.length)).slice(0, length);
}

const oddTexts: readonly string[] = [
  "",
  " ",
  "a",
  "0",
  "0.5",
  "null",
  "true",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00\ud800",
  "\u2028\u2029",
  "\ufeff",
  "\u202eabc",
  "👩‍👩‍👧‍👦".repeat(40),
  "é",
  "e\u0301",
  "ﷺ".repeat(100),
  "__proto__",
  "constructor",
  "toString",
  "../../../../etc/passwd",
  "%00",
  "%2e%2e%2f",
  "'; DROP TABLE jobs; --",
  "{{ 7 * 7 }}",
  "{% for i in range(999999999) %}x{% endfor %}",
  "<script>alert(1)</script>",
  "\r\nx-injected: yes",
  "local/p",
  "local/p/",
  "nobody/p",
  "w:///local/p/call/1",
  "weave:///local/p/object/a:%zz",
  "vendor:///local/p/op/f:1/attr/x/attr/y",
  "00000000-0000-0000-0000-000000000000",
  "2024-02-30T25:61:61Z",
  "9999-12-31T23:59:59.999999999Z",
  "token_id:1",
  "token_id:99999999999",
  "wandb.note.1",
  "vendor.reaction.1",
  "wandb.annotation.x",
];

const textLengths: readonly number[] = [128, 129, 200, 201, 256, 257, 1000, 1024, 1025, 4096, 4097, 60_000];

const oddNumbers: readonly string[] = [
  "0",
  "-0",
  "1",
  "-1",
  "2",
  "1.0",
  "1e0",
  "0.5",
  "-0.5",
  "20",
  "21",
  "128",
  "129",
  "4097",
  "100001",
  "2147483648",
  "4294967296",
  "9007199254740991",
  "9007199254740993",
  "9223372036854775807",
  "9223372036854775808",
  "-9223372036854776000",
  "99999999999999999999999999",
  "1e308",
  "1e309",
  "-1e400",
  "1e-400",
  "5e-324",
  `1${"0".repeat(400)}`,
  `0.${"1".repeat(4000)}`,
];

/** Texts that a JSON parser must refuse. */
const noJson: readonly string[] = [
  "NaN",
  "-Infinity",
  "undefined",
  "01",
  "0x10",
  "1.",
  ".5",
  "+1",
  "'a'",
  '"\t"',
  '"\\x41"',
  '"\\ud8"',
  "[1,]",
  '{"a":1,}',
  "{a:1}",
  "/* */1",
  "",
];

const oddNames: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "hasOwnProperty",
  "toString",
  "toJSON",
  "then",
  "length",
  "",
  " ",
  "\0",
  "\ud800",
  "\u2028",
  "a.b",
  "0",
  "-1",
  "$ref",
  "é".repeat(101),
  longText(300),
  longText(5000),
];

/** @param items at least one */
export function oneOf<T>(random: Random, items: readonly T[]): T {
  return items[random.index(items.length)];
}

export function oddText(random: Random): string {
  return random.uniform() < 0.75 ? oneOf(random, oddTexts) : longText(oneOf(random, textLengths));
}

export function oddName(random: Random): string {
  return oneOf(random, oddNames);
}

/** Returns the JSON text of a value, or text that is almost JSON. */
export function oddJson(random: Random): string {
  const dice = random.uniform();
  if (dice < 0.2) return oneOf(random, ["null", "true", "false"]);
  if (dice < 0.45) return oneOf(random, oddNumbers);
  if (dice < 0.75) return JSON.stringify(oddText(random));
  if (dice < 0.8) return oneOf(random, noJson);
  if (dice < 0.93) return oneOf(random, ["[]", "{}", "[null]", "[[]]", "[{}]", '{"a":1}', '[0,"a",null,{}]']);
  if (dice < 0.97) return nested(random);
  return `[${Array.from({ length: 1 + random.index(2000) }, () => oneOf(random, oddNumbers.slice(0, 12))).join(",")}]`;
}

/** Returns nested lists with a depth at, just above or far above the limit for bodies. */
function nested(random: Random): string {
  const depth = oneOf(random, [3, 10, 60, 61, 62, 63, 64, 65, 66, 1000, 20_000]);
  return random.uniform() < 0.5
    ? "[".repeat(depth) + "]".repeat(depth)
    : '{"a":'.repeat(depth) + "1" + "}".repeat(depth);
}
