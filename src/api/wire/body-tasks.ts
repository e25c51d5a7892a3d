// Readers of request bodies, by kind. They are pure functions of the bytes: small bodies are read in the event loop,
// large ones in a worker. They also read stored groups of trajectories, because a group may be as large as the body in
// which it arrived.
import { createHash } from "node:crypto";
import type { Caller } from "../../base/domain/access.ts";
import { present } from "../../base/domain/assert.ts";
import type { PackForm } from "../../base/domain/feedback-query/feedback-batch.ts";
import type { ExactJson } from "../../base/domain/text/exact-json.ts";
import { readForm, type Checked } from "./body.ts";
import { parseExactBody, parseJsonBody } from "../../base/validation/json-body.ts";
import {
  feedbackCreateForm,
  feedbackReplaceForm,
  type FeedbackBody,
  type FeedbackReplaceBody,
} from "./feedback/feedback.ts";
import { readChatRequest, type ReadChatRequest, type RequestId } from "./chat/read-chat-request.ts";
import { readCompletion, type ReadCompletion } from "./completions/read-completion.ts";
import {
  readCountRequest,
  readMessagesRequest,
  type ReadCountRequest,
  type ReadMessagesRequest,
} from "./messages/read-messages-request.ts";
import { readOllamaChat, readOllamaGenerate, type ReadOllama } from "./ollama/read-request.ts";
import { readOllamaEmbed, readOllamaEmbeddings, type ReadOllamaEmbed } from "./ollama/embed.ts";
import { readEmbedding, type ReadEmbedding } from "./embeddings/embedding-request.ts";
import { readResponsesRequest, type ReadResponsesRequest } from "./responses/read-responses-request.ts";
import { readPreferenceJob, type ReadPreferenceJob } from "./preferences/preference-job.ts";
import { isPreference, readPreferenceFile, type StoredPreferences } from "./preferences/preferences.ts";
import { checkItemFile, isItem, type CheckedItems } from "./fine-tuning/item-file.ts";
import { readConversationFile, type StoredConversations } from "./supervised/conversations.ts";
import { firstLineOf } from "./supervised/line-file.ts";
import { readSupervisedJob, type ReadSupervisedJob } from "./supervised/supervised-job.ts";
import { readTrainingJob, type ReadTrainingJob } from "./training-job.ts";
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
import { respellGroup } from "./trajectory-pages.ts";
import type { ObjectInput } from "../../judge/weave/object-service.ts";
import {
  readCallBatch,
  readCallEnd,
  readCallsComplete,
  readCallStart,
  type ReadCalls,
} from "./weave/calls.ts";
import { readExport, type ExportForm, type ReadExport } from "./otlp/read-export.ts";
import { readPublishedObject } from "./weave/read-object.ts";
import { readTable, readTableOfDigests } from "./weave/tables.ts";
import type { TableInput } from "../../judge/weave/table-service.ts";

/**
 * Result of reading each kind of body. Results are plain data, with large parts as packed lines, so that a worker can
 * return them.
 */
interface BodyKinds {
  readonly chat: ReadChatRequest;
  readonly completion: ReadCompletion;
  readonly response: ReadResponsesRequest;
  readonly message: ReadMessagesRequest;
  readonly "token count": ReadCountRequest;
  readonly embedding: ReadEmbedding;
  readonly "Ollama chat": ReadOllama;
  readonly "Ollama completion": ReadOllama;
  readonly "Ollama embed": ReadOllamaEmbed;
  readonly "Ollama embeddings": ReadOllamaEmbed;
  readonly "constraint check": ReadConstraintCheck;
  readonly tokenization: ReadTokenization;
  readonly detokenization: ReadDetokenization;
  readonly "training job": ReadTrainingJob & { readonly hash: string };
  readonly "supervised job": ReadSupervisedJob & { readonly hash: string };
  readonly "conversation file": StoredConversations;
  readonly "preference job": ReadPreferenceJob & { readonly hash: string };
  readonly "preference file": StoredPreferences;
  readonly "item file": CheckedItems;
  readonly "validation file": CheckedItems;
  readonly "uploaded file": { readonly lineCount: number };
  readonly log: ReadLog;
  readonly "feedback batch": ReadFeedbackBatch;
  readonly feedback: Checked<FeedbackBody>;
  readonly "feedback replacement": Checked<FeedbackReplaceBody>;
  readonly "published object": Checked<ObjectInput>;
  readonly "published table": Checked<TableInput>;
  readonly "table of digests": Checked<TableInput>;
  readonly "call start": ReadCalls;
  readonly "call end": ReadCalls;
  readonly "calls complete": ReadCalls;
  readonly "call batch": ReadCalls;
  readonly "trace export": ReadExport;
  readonly "stored group": { readonly text: Uint8Array<ArrayBuffer> };
}

/** Sender of a body: the caller, and the id of the request. */
export interface BodySender {
  readonly caller: Caller;
  readonly requestId: RequestId;
}

/** Input besides the body that readers of some kinds of bodies need. */
export interface KindContext {
  /** For a training job: the number of token ids of its model; absent or null if the number is unknown. */
  readonly vocabularySize?: number | null;
  /**
   * Form in which the records of a batch of feedback are packed. Required for such a batch, absent for other bodies.
   */
  readonly packForm?: PackForm;
  /** Encoding and project of exported traces. Required for a body of exported traces, absent for other bodies. */
  readonly exportForm?: ExportForm;
}

export type BodyKind = keyof BodyKinds;

/** A body in the pieces in which it arrived, with the further input that its reader needs. */
export interface SentBody {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly limits: BodyLimits;
  readonly sender: BodySender;
  readonly context: KindContext;
}

export type BodyTasks = {
  readonly [Kind in BodyKind]: { readonly task: SentBody; readonly result: BodyKinds[Kind] };
};

export const bodyTasks: { readonly [Kind in BodyKind]: (body: SentBody) => BodyTasks[Kind]["result"] } = {
  chat: request(readChatRequest),
  completion: request(readCompletion),
  response: request(readResponsesRequest),
  message: request(readMessagesRequest),
  "token count": request(readCountRequest),
  embedding: whole((bytes, limits) => readEmbedding(parseJsonBody(bytes, limits.json))),
  "Ollama chat": request(readOllamaChat),
  "Ollama completion": request(readOllamaGenerate),
  "Ollama embed": whole((bytes, limits) => readOllamaEmbed(parseJsonBody(bytes, limits.json))),
  "Ollama embeddings": whole((bytes, limits) => readOllamaEmbeddings(parseJsonBody(bytes, limits.json))),
  tokenization: whole((bytes, limits) => readTokenization(parseJsonBody(bytes, limits.json), limits)),
  detokenization: whole((bytes, limits) => readDetokenization(parseJsonBody(bytes, limits.json))),
  "constraint check": whole((bytes, limits) =>
    readConstraintCheck(parseExactBody(bytes, limits.json), limits),
  ),
  "training job": whole((bytes, limits, _sender, { vocabularySize = null }) => ({
    ...readTrainingJob(bytes, limits, vocabularySize),
    hash: hashOf(bytes),
  })),
  "supervised job": whole((bytes, limits) => ({ ...readSupervisedJob(bytes, limits), hash: hashOf(bytes) })),
  "conversation file": whole((bytes, limits) => readConversationFile(bytes, limits, "conversation file")),
  "preference job": whole((bytes, limits) => ({ ...readPreferenceJob(bytes, limits), hash: hashOf(bytes) })),
  "preference file": whole((bytes, limits) => readPreferenceFile(bytes, limits, "preference file")),
  "item file": whole((bytes, limits) => checkItemFile(bytes, limits, "item file")),
  "validation file": whole((bytes, limits) => checkItemFile(bytes, limits, "validation file")),
  "uploaded file": whole(readUploadedFile),
  log: whole(readLog),
  "feedback batch": whole((bytes, limits, { caller }, { packForm }) =>
    readFeedbackBatch(bytes, limits, { caller, packForm: present(packForm, "how a batch is packed") }),
  ),
  feedback: whole((bytes, limits) => readForm(feedbackCreateForm, parseJsonBody(bytes, limits.json))),
  "feedback replacement": whole((bytes, limits) =>
    readForm(feedbackReplaceForm, parseJsonBody(bytes, limits.json)),
  ),
  "published object": whole(readPublishedObject),
  "published table": whole(readTable),
  "table of digests": whole(readTableOfDigests),
  "call start": whole(readCallStart),
  "call end": whole(readCallEnd),
  "calls complete": whole(readCallsComplete),
  "call batch": whole(readCallBatch),
  "trace export": whole((bytes, limits, _sender, { exportForm }) =>
    readExport(bytes, limits, present(exportForm, "how an export was sent")),
  ),
  "stored group": whole((bytes) => ({ text: respellGroup(bytes) })),
};

/** URL of this module, which worker pools load. */
export const bodyTaskModule = new URL("./body-tasks.js", import.meta.url);
export const openTasks = (): typeof bodyTasks => bodyTasks;

/**
 * Checks an uploaded file in the same way as a job that uses it. The first line decides whether the file contains
 * preferences, conversations, or items for reinforcement.
 */
function readUploadedFile(bytes: Buffer, limits: BodyLimits): BodyTasks["uploaded file"]["result"] {
  const first = firstLineOf(bytes, limits);
  if (isPreference(first))
    return { lineCount: readPreferenceFile(bytes, limits, "uploaded file").preferenceCount };
  if (isItem(first)) return { lineCount: checkItemFile(bytes, limits, "uploaded file").itemCount };
  return { lineCount: readConversationFile(bytes, limits, "uploaded file").conversationCount };
}

/** Returns a task that joins the pieces of a body and calls `read`. A body with a single piece is not copied. */
function whole<Result>(
  read: (bytes: Buffer, limits: BodyLimits, sender: BodySender, context: KindContext) => Result,
): (body: SentBody) => Result {
  return ({ pieces, limits, sender, context }) => {
    const [first] = pieces;
    const isWhole = pieces.length === 1;
    const bytes = isWhole ? Buffer.from(first.buffer, first.byteOffset, first.length) : Buffer.concat(pieces);
    return read(bytes, limits, sender, context);
  };
}

/** Returns a task that parses the JSON body of a request to a model and calls `read`. */
function request<Result>(
  read: (value: unknown, limits: BodyLimits, id: RequestId, exact: ExactJson | undefined) => Result,
): (body: SentBody) => Result {
  return whole((bytes, limits, { requestId }) => {
    const { value, exact } = parseExactBody(bytes, limits.json);
    return read(value, limits, requestId, exact);
  });
}

/**
 * Returns the SHA-256 of the bytes in hexadecimal form. It is stored with an idempotency key, so that a repeated
 * request is recognized.
 */
function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
