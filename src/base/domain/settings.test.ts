import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "./service-error.ts";
import { defaultsOf, readSetting, type Setting } from "./settings.ts";

const about = "For the test.";
const port: Setting = { kind: "integer", default: 1, min: 0, max: 10, about };
const share: Setting = { kind: "number", default: 0.5, min: 0, max: 1, about };
const level: Setting = { kind: "choice", default: "a", choices: ["a", "b"], about };
const isOn: Setting = { kind: "flag", default: false, about };
const names: Setting = { kind: "list", default: [], about };
const host: Setting = { kind: "text", default: "here", about };
const path: Setting = { kind: "text", default: null, about };

test("reads values from JSON and from text", () => {
  const cases: readonly (readonly [Setting, unknown, unknown])[] = [
    [port, 3, 3],
    [port, "10", 10],
    [share, "0.25", 0.25],
    [level, "b", "b"],
    [isOn, "on", true],
    [isOn, false, false],
    [names, "x, y,", ["x", "y"]],
    [names, ["x"], ["x"]],
    [path, "/data", "/data"],
    [path, null, null],
  ];
  for (const [setting, given, expected] of cases)
    assert.deepEqual(readSetting("s", setting, given), expected);
});

test("refuses an invalid value with its name, the value and the limit", () => {
  const cases: readonly (readonly [Setting, unknown, RegExp])[] = [
    [port, 11, /^--port is 11; it must be between 0 and 10\.$/],
    [port, "1.5", /a whole number/],
    [port, "", /a number/],
    [port, Number.NaN, /a number/],
    [share, "x", /"x"; it must be a number/],
    [level, "c", /one of a, b/],
    [isOn, "perhaps", /true or false/],
    [names, 3, /a list of texts/],
    [path, 3, /a text/],
    [host, null, /a text/],
  ];
  for (const [setting, given, message] of cases) {
    assert.throws(
      () => readSetting("--port", setting, given),
      (error) => error instanceof ServiceError && error.code === "invalid" && message.test(error.message),
    );
  }
});

test("a text with a default is never null, also for the compiler", () => {
  const values = defaultsOf({
    host: { kind: "text", default: "here", about },
    path: { kind: "text", default: null, about },
  } as const);
  const certain: string = values.host;
  const uncertain: string | null = values.path;
  assert.deepEqual([certain, uncertain], ["here", null]);
});

test("takes defaults from the schema", () => {
  assert.deepEqual(defaultsOf({ port, names }), { port: 1, names: [] });
});
