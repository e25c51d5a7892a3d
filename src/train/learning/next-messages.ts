// Finds recorded chats that continue an earlier answer of the model. A judge reads the user's reply to that answer, and
// the verdict is stored as feedback on the answer.
import { createHash } from "node:crypto";
import type { Caller } from "../../base/domain/access.ts";
import type { AskModel } from "../../base/domain/fine-tuning/ask-model.ts";
import type { FeedbackContent, FeedbackRecord } from "../../base/domain/feedback.ts";
import { nextMessageType } from "../../base/domain/learning/learning-order.ts";
import type {
  AnsweredTurn,
  Learning,
  LearningHold,
  LearningStore,
} from "../../base/domain/learning/learning-store.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { callReference } from "../../base/domain/recordings/call-reference.ts";
import {
  anyCompletion,
  type CompletionStore,
  type ListedCompletion,
} from "../../base/domain/recordings/completion-store.ts";
import type { CompletionContent } from "../../base/domain/recordings/recorded-completion.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { messageText, turnHash } from "./conversation-key.ts";
import { judgeMessage, messageRewards, type MessageVerdict } from "./judge-texts.ts";
import type { LearningSettings } from "./settings.ts";

export interface MessageDependencies {
  readonly completions: Pick<CompletionStore, "find" | "list">;
  readonly learning: Pick<LearningStore, "turnCursor" | "findTurns" | "addTurns">;
  readonly findFeedback: (projectId: string, id: string) => Promise<FeedbackRecord | null>;
  readonly createFeedback: (
    record: FeedbackContent & { readonly id: string },
    caller: Caller,
  ) => Promise<FeedbackRecord>;
  readonly settings: LearningSettings;
}

interface Task {
  readonly model: TrainedModel;
  readonly order: Learning["order"];
  readonly hold: LearningHold;
  readonly caller: Caller;
  readonly ask: AskModel;
  readonly signal: AbortSignal;
  readonly now: Date;
}

/**
 * Reads the recorded chats that were added since the last call, and judges replies in them. If the judge cannot be
 * asked, the next call continues with the same chat.
 *
 * @throws ServiceError if the judge cannot be asked now
 */
export async function judgeNextMessages(dependencies: MessageDependencies, task: Task): Promise<void> {
  const { completions, learning, settings } = dependencies;
  const { model, hold, order } = task;
  let cursor = await learning.turnCursor(hold);
  let judgedCount = 0;
  for (let readCount = 0; readCount < settings.recordingsPerLook && cursor !== null;) {
    const filter = { ...anyCompletion, modelId: model.id };
    const page = await completions.list(filter, { after: cursor, limit: 50, order: "asc" });
    for (const listed of page.items) {
      if (task.signal.aborted || judgedCount >= settings.judgedPerLook) return;
      const content = (await completions.find(listed))?.content ?? null;
      const isOld = task.now.getTime() - listed.endedAt.getTime() > order.days * 24 * 3600 * 1000;
      // Skips the calls of rollouts, because rollouts have rewards of their own.
      const isRead = content !== null && !isOld && (listed.rolloutId ?? null) === null;
      if (isRead && (await judgeReply(dependencies, task, listed, content))) judgedCount += 1;
      cursor = listed.number;
      const turns = isRead ? answeredTurns(listed, content) : [];
      await learning.addTurns(hold, cursor, turns, { countMax: settings.turnsKept });
    }
    readCount += page.items.length;
    if (!page.hasMore || page.items.length === 0) return;
  }
}

/** Returns the turn that ends with the answer of a chat; none for a chat with several choices. */
function answeredTurns(
  { requestId }: ListedCompletion,
  { prompt, choices }: CompletionContent,
): readonly AnsweredTurn[] {
  if (prompt.kind !== "conversation" || choices.length !== 1) return [];
  const [{ text, toolCalls }] = choices;
  const calls = toolCalls.map(({ name, argumentsText }) => ({
    function: { name, arguments: argumentsText },
  }));
  const answer = { role: "assistant", content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  return [{ hash: turnHash([...prompt.messages, answer]), requestId }];
}

/** Judges the reply at the end of a chat. Returns true if the judge was asked. */
async function judgeReply(
  dependencies: MessageDependencies,
  { model, order, caller, ask, signal }: Task,
  listed: ListedCompletion,
  { prompt }: CompletionContent,
): Promise<boolean> {
  const reply = prompt.kind === "conversation" ? replyIn(prompt.messages) : null;
  if (reply === null || order.judge === null) return false;
  const [turn] = await dependencies.learning.findTurns(model.id, [turnHash(reply.messages)]);
  if (turn === undefined || turn.requestId === listed.requestId) return false;
  const key = { projectId: listed.projectId, requestId: turn.requestId };
  const vendorRef = callReference(key);
  const id = `next-message-${createHash("sha256").update(vendorRef).digest("hex")}`;
  const isJudged = (await dependencies.findFeedback(listed.projectId, id)) !== null;
  if (isJudged || (await dependencies.completions.find(key)) === null) return false;
  const verdict = await judgeMessage(order.judge, reply, { ask, signal }).catch(
    (error: unknown): MessageVerdict => {
      const isUnread = error instanceof ServiceError && ["invalid", "unsupported"].includes(error.code);
      if (isUnread && !signal.aborted) return "unclear";
      throw error;
    },
  );
  const value = messageRewards[verdict];
  const payload = {
    verdict,
    ...(value === null ? {} : { value }),
    judge: order.judge.model,
    next_request_id: listed.requestId,
  };
  const references = {
    annotationRef: null,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: null,
  };
  const content = { projectId: listed.projectId, vendorRef, feedbackType: nextMessageType, payload };
  // The author is the person who wrote the message, and not the judge.
  await dependencies.createFeedback({ id, ...content, ...references, creator: listed.owner }, caller);
  return true;
}

/** Returns the user's messages at the end of a chat, and the messages before them, which end with an answer. */
function replyIn(
  messages: readonly MessageRecord[],
): { readonly messages: readonly MessageRecord[]; readonly next: string } | null {
  const last = messages.findLastIndex(({ role }) => role !== "user");
  const next = messages.slice(last + 1);
  if (next.length === 0 || messages[last]?.role !== "assistant") return null;
  return { messages: messages.slice(0, last + 1), next: next.map(messageText).join("\n") };
}
