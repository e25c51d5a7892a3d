// What is read from a body, by kind: pure functions of its bytes, which run in the event loop for small bodies and in a
// worker for large ones. A stored group of trajectories counts as a body, since it is as large as the one it came in.
import { createHash } from "node:crypto";
import type { Caller } from "../domain/access.ts";
import { readForm } from "./body.ts";
import { parseExactBody, parseJsonBody } from "../validation/json-body.ts";
import {
  feedbackCreateForm,
  feedbackReplaceForm,
  type FeedbackBody,
  type FeedbackReplaceBody,
} from "./feedback/feedback.ts";
import { readChatRequest, type ReadChatRequest } from "./chat/read-chat-request.ts";
import { readCompletion, type ReadCompletion } from "./completions/read-completion.ts";
import { readResponsesRequest, type ReadResponsesRequest } from "./responses/read-responses-request.ts";
import { readConversationFile, type StoredConversations } from "./supervised/conversations.ts";
import { readSupervisedJob, type ReadSupervisedJob } from "./supervised/supervised-job.ts";
import { readTrainingJob, type ReadTrainingJob } from "./training-job.ts";
import type { Checked } from "./checked.ts";
import { readConstraintCheck, type ReadConstraintCheck } from "./chat/constraint-check.ts";
import type { BodyLimits } from "./body-limits.ts";
import { readFeedbackBatch, type ReadFeedbackBatch } from "./feedback/read-feedback-batch.ts";
import {
  readDetokenization,
  readTokenization,
  type ReadDetokenization,
  type ReadTokenization,
} from "./tokenize/read-tokenization.ts";
import { readLog, type ReadLog } from "./read-log.ts";
import type { RequestId } from "./chat/completion-id.ts";
import { respellGroup } from "./trajectory-pages.ts";

/** What each kind of body is read as: plain data, with large parts as packed lines. */
export interface BodyKinds {
  readonly chat: ReadChatRequest;
  readonly completion: ReadCompletion;
  readonly response: ReadResponsesRequest;
  readonly "constraint check": ReadConstraintCheck;
  readonly tokenization: ReadTokenization;
  readonly detokenization: ReadDetokenization;
  readonly "training job": ReadTrainingJob & { readonly hash: string };
  readonly "supervised job": ReadSupervisedJob & { readonly hash: string };
  readonly "conversation file": StoredConversations;
  readonly "uploaded file": Pick<StoredConversations, "conversationCount">;
  readonly log: ReadLog;
  readonly "feedback batch": ReadFeedbackBatch;
  readonly feedback: Checked<FeedbackBody>;
  readonly "feedback replacement": Checked<FeedbackReplaceBody>;
  readonly "stored group": { readonly text: Uint8Array<ArrayBuffer> };
}

/** Who sent a body, and with which request. */
export interface BodySender {
  readonly caller: Caller;
  readonly requestId: RequestId;
  /** How many token ids the model has that a job is for; null where that is not known. */
  readonly vocabularySize: number | null;
}

export type BodyKind = keyof BodyKinds;

export const bodyTasks: {
  readonly [Kind in BodyKind]: (bytes: Buffer, limits: BodyLimits, sender: BodySender) => BodyKinds[Kind];
} = {
  chat(bytes, limits, { requestId }) {
    const { value, exact } = parseExactBody(bytes, limits.json);
    return readChatRequest(value, limits, requestId, exact);
  },
  tokenization: (bytes, limits) => readTokenization(parseJsonBody(bytes, limits.json), limits),
  detokenization: (bytes, limits) => readDetokenization(parseJsonBody(bytes, limits.json)),
  completion(bytes, limits, { requestId }) {
    const { value, exact } = parseExactBody(bytes, limits.json);
    return readCompletion(value, limits, requestId, exact);
  },
  response(bytes, limits, { requestId }) {
    const { value, exact } = parseExactBody(bytes, limits.json);
    return readResponsesRequest(value, limits, requestId, exact);
  },
  "constraint check": (bytes, limits) => readConstraintCheck(parseExactBody(bytes, limits.json), limits),
  "training job": (bytes, limits, { vocabularySize }) => ({
    ...readTrainingJob(bytes, limits, vocabularySize),
    hash: hashOf(bytes),
  }),
  "supervised job": (bytes, limits) => ({ ...readSupervisedJob(bytes, limits), hash: hashOf(bytes) }),
  "conversation file": (bytes, limits) => readConversationFile(bytes, limits, "conversation file"),
  "uploaded file": (bytes, limits) => ({
    conversationCount: readConversationFile(bytes, limits, "uploaded file").conversationCount,
  }),
  log: readLog,
  "feedback batch": (bytes, limits, { caller }) => readFeedbackBatch(bytes, limits, caller),
  feedback: (bytes, limits) => readForm(feedbackCreateForm, parseJsonBody(bytes, limits.json)),
  "feedback replacement": (bytes, limits) => readForm(feedbackReplaceForm, parseJsonBody(bytes, limits.json)),
  "stored group": (bytes) => ({ text: respellGroup(bytes) }),
};

/** Hex SHA-256 of the bytes: what an idempotency key stands for. */
function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
