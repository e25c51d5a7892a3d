import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { metricText } from "./metric-texts.ts";

test("explains each metric of the table in the docs, under both of its names", () => {
  const page = readFileSync("docs/concepts/training.md", "utf8");
  const rows = page.split("\n| metric in events |")[1]?.split("\n\n")[0]?.split("\n").slice(2) ?? [];
  const names = rows.flatMap((row) =>
    [
      ...row
        .split("|")
        .slice(0, 3)
        .join("|")
        .matchAll(/`([^`]+)`/g),
    ].map(([, name = ""]) => name),
  );
  assert.ok(names.length > 30, `${names.length} names`);
  assert.deepEqual(
    names.filter((name) => metricText(name) === null),
    [],
  );
});

test("explains the metrics of preference jobs, and of logs of any split", () => {
  for (const name of ["rewards/margins", "rewards/accuracies", "kl", "logps/chosen", "logps/rejected"])
    assert.notEqual(metricText(name), null, name);
  assert.equal(metricText("test/exception_rate"), metricText("exception_rate"));
  assert.equal(metricText("val/reward"), "Mean logged reward of the version on the split val.");
  assert.equal(metricText("train/my_metric"), null);
});
