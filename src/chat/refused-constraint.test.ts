import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../domain/service-error.ts";
import { ServiceError } from "../domain/service-error.ts";
import { jsonSchema, structuralTag } from "../grammar/testing/constraints.ts";
import { locateRefusal } from "./refused-constraint.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";
import { constrainedReply } from "./tools/constrained-reply.ts";
import { toolsOf } from "./tools/tool-use.ts";
import { callFormats } from "./tools/call-formats.ts";

const parameters = { type: "object", properties: { a: { type: "string" } } };
const tools = ["f", "g"].map((name) => ({
  type: "function",
  function: { name, ...(name === "g" ? { parameters } : {}) },
}));

/** The fault that a refusal becomes where calls are required, or the request's own constraint is kept. */
function faultOf(message: string, changes: RequestChanges, thought: "open" | "none" = "none"): Fault {
  const request = chatRequest(changes);
  const hasTools = toolsOf(request).length > 0;
  const names = new Set(["f", "g"]);
  const calls = !hasTools ? null : { format: callFormats.hermes, names, areParallel: true };
  const made = constrainedReply(request, { kind: hasTools ? "required" : "none" }, { thought, calls });
  const error = locateRefusal(new ServiceError({ code: "unsupported", message }), request, made);
  assert.ok(error instanceof ServiceError && error.faults.length === 1);
  return error.faults[0];
}

test("what is wrong with a tool's schema is told at the tool", () => {
  const message = "In the content at #/format/tags/1/content/json_schema: No.";
  const fault = faultOf(message, { prompt: { tools } });
  assert.deepEqual(fault.location, ["prompt", "tools", "1", "function", "parameters"]);
  assert.equal(fault.message, "No.");
});

test("what is wrong with the request's own constraint is told there, in its own words", () => {
  const own = { constraint: jsonSchema({ type: "integer" }) };
  assert.deepEqual(faultOf("No.", own).location, ["constraint"]);
  const place = "#/format/elements/1/json_schema";
  const behind = faultOf(`In the content at ${place}: No.`, own, "open");
  assert.deepEqual([behind.location, behind.message], [["constraint"], "No."]);
  const tag = { constraint: structuralTag({ format: { type: "json_schema", json_schema: 5 } }) };
  const whole = `In the content at ${place}: No.`;
  assert.equal(faultOf(whole, tag, "open").message, whole);
});

test("any other error, and one of an answer that is free, stays as it is", () => {
  const request = chatRequest();
  const errors = [new Error("x"), new ServiceError({ code: "internal", message: "x" })];
  for (const error of errors) assert.equal(locateRefusal(error, request, jsonSchema(true)), error);
  const refused = new ServiceError({ code: "unsupported", message: "x" });
  assert.equal(locateRefusal(refused, request, null), refused);
});
