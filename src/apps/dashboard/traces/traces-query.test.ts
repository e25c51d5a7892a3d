import assert from "node:assert/strict";
import { test } from "node:test";
import { filtersIn, tracesQuery } from "./traces-query.ts";

const asked = (address: string) => tracesQuery("acme/p", filtersIn(new URLSearchParams(address)), 50).filter;

test("asks for roots, or for calls at any depth that match a name, words or a state", () => {
  assert.deepEqual(asked("project=p&after=50&text="), { trace_roots_only: true });
  assert.deepEqual(asked("name=answer&text=refund&status=error&since=2026-11-01T00:00:00Z"), {
    trace_roots_only: false,
    op_names: ["answer", "weave:///acme/p/op/answer:*"],
    text: "refund",
    status: "error",
    started_from: "2026-11-01T00:00:00Z",
  });
  assert.deepEqual(asked("until=2026-11-02T00:00:00Z"), {
    trace_roots_only: true,
    started_before: "2026-11-02T00:00:00Z",
  });
});

test("asks for one call more than a page shows, after the earlier pages", () => {
  const { offset, limit } = tracesQuery("acme/p", {}, 100);
  assert.deepEqual([offset, limit], [100, 51]);
});
