// For tests: checks of how a chat request is read or refused.
import assert from "node:assert/strict";
import { chatRequest, type RequestChanges } from "../../../../inference/chat/testing/chat-request.ts";
import { ServiceError, type Fault } from "../../../../base/domain/service-error.ts";
import type { MessageRecord } from "../../../../base/domain/trajectory.ts";
import { httpSettings } from "../../../http/settings.ts";
import { readChatRequest } from "../read-chat-request.ts";

export const messages = [{ role: "user", content: "hi" }];

export const limits = httpSettings.with();

export type ExpectedFault = readonly [place: string, message: string | RegExp];

export function refuses(body: object, code: "invalid" | "unserved", faults: readonly ExpectedFault[]) {
  if (code === "unserved") {
    checkFaults(readChatRequest({ messages, ...body }, limits).request.unserved, faults);
    return;
  }
  assert.throws(
    () => readChatRequest({ messages, ...body }, limits),
    (error) => {
      assert.ok(error instanceof ServiceError, String(error));
      assert.equal(error.code, code, error.message);
      checkFaults(error.faults, faults);
      return true;
    },
  );
}

export function checkFaults(found: readonly Fault[], expected: readonly ExpectedFault[]): void {
  assert.deepEqual(
    found.map(({ location }) => location.join(".")),
    expected.map(([place]) => `body${place}`),
  );
  expected.forEach(([, message], index) => {
    const said = found[index]?.message ?? "";
    if (message instanceof RegExp) assert.match(said, message);
    else assert.equal(said, message);
  });
}

/** Checks that the body is read as a plain chat request with only these changes. */
export function reads(body: object, changes: RequestChanges): void {
  const { request } = readChatRequest({ messages, request_id: "r1", ...body }, limits);
  assert.deepEqual(request, chatRequest(changes), JSON.stringify(body));
}

export function messagesOf(body: object): readonly MessageRecord[] {
  const { prompt } = readChatRequest(body, limits).request;
  assert.ok(prompt.kind === "conversation");
  return prompt.messages;
}

export const tools = [{ type: "function", function: { name: "f" } }];

export const named = (name: string) => ({ type: "function", function: { name } });
