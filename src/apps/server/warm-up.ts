// Warm-up: chats with each loaded base model before the server reports that it is ready. Without it, the first client
// would wait about ten times as long as the tenth, while code, tokenizer threads and weights are loaded. The chats use
// a separate HTTP server that never listens, so neither the log nor the metrics show them.
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

const url = "/v1/chat/completions";

/** Fields of a chat for a model that cannot render the conversation, because it has no chat template for example. */
const plain = { chat_template: "Hello" };

/**
 * Chats with each model, streamed and not streamed, or once if it needs {@link plain}. Failures are ignored, because
 * the first client will see the same error.
 *
 * @param http dependencies of the server that will serve clients
 * @param chat dependencies of its chat service
 */
export async function runWarmUp(
  models: readonly string[],
  http: HttpDependencies,
  chat: Pick<ChatDependencies, "directory" | "bases" | "clock">,
): Promise<void> {
  const unseen = { metrics: createMetrics({ processMetrics: false }), tracing: null, logger: noLogger };
  const own = {
    ...http,
    ...unseen,
    chat: createChatService({ ...chat, ...unseen, isInternal: true }),
    audit: { record: nothing, recordDurably: async () => undefined, fault: () => null },
    auth: "off" as const,
  };
  const app = await createHttpServer(own, "chats");
  const ask = async (model: string): Promise<void> => {
    const body = { model, messages: [{ role: "user", content: "Hello" }], max_tokens: 2 };
    for (const stream of [true, false]) {
      const payload = { ...body, stream };
      const { statusCode } = await app.inject({ method: "POST", url, payload });
      if (statusCode === 200) continue;
      await app.inject({ method: "POST", url, payload: { ...payload, ...plain } });
      return;
    }
  };
  try {
    await Promise.allSettled(models.map(ask));
  } finally {
    await app.close();
  }
}
