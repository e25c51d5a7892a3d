import assert from "node:assert/strict";
import { test } from "node:test";
import { constraintFeatures } from "../../base/domain/generation.ts";
import type { Fault } from "../../base/domain/service-error.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { jsonSchema, structuralTag } from "../../lib/constraints/grammar/testing/make-constraints.ts";
import { locateRefusal } from "./refused-constraint.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";
import { constrainedReply } from "./tools/reply-plan.ts";
import { toolsOf } from "./tools/tool-use.ts";
import { callFormats } from "./tools/call-formats.ts";

const parameters = { type: "object", properties: { a: { type: "string" } } };
const tools = ["f", "g"].map((name) => ({
  type: "function",
  function: { name, ...(name === "g" ? { parameters } : {}) },
}));

interface Changes extends RequestChanges {
  readonly thought?: "open" | "none";
  readonly format?: keyof typeof callFormats;
}

/**
 * Returns the fault that is reported when an engine refuses a request's constraint. A request with tools requires
 * calls; any other request uses its own constraint.
 */
function faultOf(message: string, { thought = "none", format = "hermes", ...changes }: Changes): Fault {
  const request = chatRequest(changes);
  const choice = request.calls.choice ?? { kind: toolsOf(request).length > 0 ? "required" : "none" };
  const calls =
    choice.kind === "none"
      ? null
      : {
          format: callFormats[format],
          functions: new Map(),
          areParallel: true,
          isConstrained: true,
          texts: new Set<string>(),
        };
  const constraint = constrainedReply(request, choice, {
    thought,
    calls,
    features: new Set(constraintFeatures),
  });
  const error = locateRefusal(new ServiceError({ code: "unsupported", message }), request, {
    constraint,
    form: { thought, calls },
  });
  assert.ok(error instanceof ServiceError && error.faults.length === 1);
  return error.faults[0];
}

test("reports a fault in a tool's schema at the tool, in every format", () => {
  const place = ["prompt", "tools", "1", "function", "parameters"];
  const message = "In the content at #/format/tags/1/content/json_schema: No.";
  const fault = faultOf(message, { prompt: { tools } });
  assert.deepEqual([fault.location, fault.message], [place, "No."]);
  const inParameter = "In the content at #/format/tags/1/content/content/elements/0/content/pattern: No.";
  assert.deepEqual(faultOf(inParameter, { prompt: { tools }, format: "qwen-coder" }).location, place);
  const rule = { kind: "grammar", text: "start: x" } as const;
  const text = { prompt: { tools }, calls: { texts: [{ name: "g", rule }] } };
  const inText = "In the content at #/format/tags/1/content/content/grammar: No.";
  assert.deepEqual(faultOf(inText, text).location, ["prompt", "tools", "1", "custom", "format"]);
});

test("reports an unsatisfiable constraint at the one tool that must be called, else at all tools", () => {
  const named = { prompt: { tools }, calls: { choice: { kind: "named", name: "g" } as const } };
  assert.deepEqual(faultOf("No text.", named).location, ["prompt", "tools", "1", "function", "parameters"]);
  assert.deepEqual(faultOf("No text.", { prompt: { tools } }).location, ["prompt", "tools"]);
});

test("reports a fault in the request's own constraint at that field, with the engine's message", () => {
  const own = { constraint: jsonSchema({ type: "integer" }) };
  assert.deepEqual(faultOf("No.", own).location, ["constraint"]);
  const place = "#/format/elements/1/json_schema";
  const behind = faultOf(`In the content at ${place}: No.`, { ...own, thought: "open" });
  assert.deepEqual([behind.location, behind.message], [["constraint"], "No."]);
  const tag = { constraint: structuralTag({ format: { type: "json_schema", json_schema: 5 } }) };
  const whole = `In the content at ${place}: No.`;
  assert.equal(faultOf(whole, { ...tag, thought: "open" }).message, whole);
});

test("leaves other errors, and those of an unconstrained answer, unchanged", () => {
  const request = chatRequest();
  const errors = [new Error("x"), new ServiceError({ code: "internal", message: "x" })];
  const form = { thought: "none", calls: null } as const;
  for (const error of errors)
    assert.equal(locateRefusal(error, request, { constraint: jsonSchema(true), form }), error);
  const refused = new ServiceError({ code: "unsupported", message: "x" });
  assert.equal(locateRefusal(refused, request, { constraint: null, form }), refused);
});
