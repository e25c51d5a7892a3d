import assert from "node:assert/strict";
import { test } from "node:test";
import { comparedSettings } from "./run-settings.ts";

test("lists the settings that differ before those that are equal", () => {
  const runs = [
    { base: "tiny", rate: "0.1" },
    { base: "tiny", rate: "0.2", passes: "2" },
  ].map((settings) => ({ settings: new Map(Object.entries(settings)) }));
  assert.deepEqual(
    comparedSettings(runs).map(({ name, values, isEqual }) => [name, values, isEqual]),
    [
      ["rate", ["0.1", "0.2"], false],
      ["passes", [null, "2"], false],
      ["base", ["tiny", "tiny"], true],
    ],
  );
  assert.deepEqual(comparedSettings([]), []);
});
