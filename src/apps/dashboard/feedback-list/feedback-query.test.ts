import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, conditionOf, filtersIn } from "./feedback-query.ts";

const equals = (field: string, literal: string) => ({ $eq: [{ $getField: field }, { $literal: literal }] });

test("selects all records without filters, and combines the filters of a URL", () => {
  const of = (query: string) => conditionOf(filtersIn(new URLSearchParams(query)));
  assert.equal(of("project=a/b&other=1"), null);
  assert.deepEqual(of("type=score"), { $expr: equals("feedback_type", "score") });
  assert.deepEqual(of("type=score&creator=ann&since=2026-01-01"), {
    $expr: {
      $and: [
        equals("feedback_type", "score"),
        { $or: [equals("creator", "ann"), equals("vendor_user_id", "ann")] },
        { $gte: [{ $getField: "created_at" }, { $literal: "2026-01-01" }] },
      ],
    },
  });
});

test("finds the chat that a reference of any scheme names", () => {
  assert.deepEqual(callOf("weave:///a/b/call/x%20y/attr/choices/index/0"), { project: "a/b", id: "x y" });
  assert.deepEqual(callOf("hone:///a/b/call/%zz"), { project: "a/b", id: "%zz" });
  assert.equal(callOf("hone:///a/b/object/x:1"), null);
});
