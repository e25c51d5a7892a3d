// Tests that formats described by an operator are read as described, and refused if the description is invalid.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readReply } from "../../testing/read-reply.ts";
import { loadCallFormats } from "../call-formats.ts";
import { describedFormat } from "./described-format.ts";
import { readFormatDescription } from "./read-description.ts";

test("reads and writes calls as the operator's description says", () => {
  const format = describedFormat(
    readFormatDescription(
      {
        name: "acts",
        calls: "[[ACTS]]{calls}[[/ACTS]]",
        separator: ";",
        call: "{object}",
        object: { name: "act", arguments: "with" },
        ids: "{name}-{index}",
        also: [
          { call: "[[ACT {name}]]{parameters}[[/ACT]]", parameter: "[{name}]{value}[/]", written: true },
        ],
      },
      "a file",
    ),
  );
  const written = format.written("f", { a: "b" });
  assert.equal(written, '[[ACTS]]{"act": "f", "with": {"a": "b"}}[[/ACTS]]');
  for (const text of [`So: ${written}`, "So: [[ACT f]][a]b[/][[/ACT]]"]) {
    const { text: said, toolCalls } = readReply(format, [text], { names: ["f"] });
    assert.equal(said, "So:");
    assert.deepEqual(toolCalls, [{ id: "f-0", name: "f", argumentsText: '{"a": "b"}' }]);
  }
});

test("refuses an invalid description and names the member at fault", () => {
  const table: readonly (readonly [description: unknown, message: RegExp])[] = [
    [[], /a file: must be an object/],
    [{ call: "<c>{object}</c>" }, /name must be a text/],
    [{ name: "A b", call: "<c>{object}</c>" }, /name is "A b"; it must be lower-case/],
    [{ name: "a" }, /call must be a text/],
    [{ name: "a", call: "<c>{name}</c>" }, /call must have \{object\}, or \{name\}/],
    [{ name: "a", call: "<c>{arguments}{name}</c>" }, /call must have/],
    [{ name: "a", call: "{object}" }, /call must begin with a text that marks calls, or atStart/],
    [{ name: "a", call: "<c>{object}</c>", calls: "<cs>" }, /calls must have \{calls\} once/],
    [{ name: "a", call: "<c>{name}{parameters}</c>" }, /parameter must be a text where call has/],
    [
      { name: "a", call: "<c>{name}{parameters}</c>", parameter: "{name}={value}" },
      /parameter must have \{name\}/,
    ],
    [{ name: "a", call: "<c>{object}</c>", quote: "'" }, /quote is for a call that has \{arguments\}/],
    [{ name: "a", call: "<c>{object}</c>", object: { id: "(" } }, /object: id must be a regular expression/],
    [{ name: "a", call: "<c>{object}</c>", ids: "x" }, /ids must be "long", "short", or/],
    [{ name: "a", call: "<c>{object}</c>", begin: "x" }, /begin is not known/],
    [{ name: "a", call: "<c>{object}</c>", also: [{ call: "<d>" }] }, /also\.0: call must have/],
    [{ name: "a", call: "<c>{object}</c>", also: {} }, /also must be a list/],
    [{ name: "a", call: "<c>{object}</c>", atStart: "yes" }, /atStart must be true or false/],
  ];
  for (const [description, message] of table)
    assert.throws(() => readFormatDescription(description, "a file"), { code: "invalid", message });
});

test("loads formats from files and refuses duplicate names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hone-formats-"));
  try {
    const file = async (name: string, text: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, text);
      return path;
    };
    const one = await file("one.json", '{"name": "one", "call": "<c>{object}</c>"}');
    const [format] = await loadCallFormats([one]);
    assert.equal(format.name, "one");
    const refused = (files: readonly string[], message: RegExp): Promise<void> =>
      assert.rejects(loadCallFormats(files), { code: "invalid", message });
    await refused([one, one], /describes "one", a name that another format has/);
    await refused([await file("two.json", '{"name": "hermes", "call": "<c>{object}</c>"}')], /"hermes"/);
    await refused([await file("three.json", "{")], /three\.json: is not JSON/);
    await refused([join(folder, "none.json")], /none\.json: cannot be read/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
