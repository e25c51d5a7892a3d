// Chats that nobody sent, to each base model in memory, before the server says that it is well: the first client else waits
// for code to be compiled, a prompt thread to load its tokenizer and weights to be read, ten times as long as the tenth. They
// go the whole way but for the socket, through a server of their own that listens nowhere, has no keys and counts for itself:
// nothing of them is in the log, the audit log or the metrics of requests.
import { createChatService, type ChatDependencies } from "../../inference/chat/complete-chat.ts";
import type { HttpDependencies } from "../../api/http/dependencies.ts";
import { createHttpServer } from "../../api/http/server.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { createMetrics } from "../../base/telemetry/metrics.ts";

const nothing = (): void => undefined;
const noLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => noLogger,
};

/**
 * Has a chat with each of the models, streamed and whole; one that cannot be had says so to its first client, and not here.
 *
 * @param http of the server that will answer
 * @param chat what its chats are made of
 */
export async function answerFirstChats(
  models: readonly string[],
  http: HttpDependencies,
  chat: Pick<ChatDependencies, "directory" | "bases" | "clock">,
): Promise<void> {
  const unseen = { metrics: createMetrics({ processMetrics: false }), tracing: null, logger: noLogger };
  const own = {
    ...http,
    ...unseen,
    chat: createChatService({ ...chat, ...unseen }),
    audit: { record: nothing, recordDurably: async () => undefined, fault: () => null },
    auth: "off" as const,
  };
  const app = await createHttpServer(own, "chats");
  const ask = async (model: string): Promise<void> => {
    const body = { model, messages: [{ role: "user", content: "Hello" }], max_tokens: 2 };
    for (const stream of [true, false])
      await app.inject({ method: "POST", url: "/v1/chat/completions", payload: { ...body, stream } });
  };
  try {
    await Promise.allSettled(models.map(ask));
  } finally {
    await app.close();
  }
}
