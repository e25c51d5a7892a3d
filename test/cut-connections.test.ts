// Tests agents whose connection breaks after the server has generated an answer. The unmodified official clients send
// the call again, and training must use only the answer that they received.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { rolloutSessions, type Session } from "./rollout-sessions.ts";
import { eventually, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const server = serverOfFile({ flags: toolModel });
const sockets = new Set<Socket>();
/** Number of answers that the proxy still has to lose. */
let lossCount = 0;

/** Passes connections to the server. Loses an answer: the server sends it, and the client's connection breaks. */
const proxy = createServer((client) => {
  const upstream = connect(Number(new URL(server().url).port), "127.0.0.1");
  for (const socket of [client, upstream]) sockets.add(socket.on("error", () => undefined));
  client.pipe(upstream);
  upstream.on("data", (bytes) => {
    if (lossCount > 0 && !client.destroyed) {
      lossCount -= 1;
      client.unpipe(upstream);
      client.destroy();
    }
    if (!client.destroyed) client.write(bytes);
  });
});
after(() => {
  for (const socket of sockets) socket.destroy();
  proxy.close();
});

/** Returns the same URL through the proxy. */
async function throughProxy(url: string): Promise<string> {
  if (!proxy.listening) await once(proxy.listen(0, "127.0.0.1"), "listening");
  const at = new URL(url);
  at.port = String((proxy.address() as AddressInfo).port);
  return at.href;
}

const said = ["Who are you?", "Why?"] as const;
const sampling = { max_tokens: 12, temperature: 1.1 };

type Ask = (messages: readonly { role: "user" | "assistant"; content: string }[]) => Promise<string>;

const agents: Readonly<Record<string, (session: Session) => Promise<Ask>>> = {
  "OpenAI's chat completions": async ({ base_url: url, api_key: apiKey }) => {
    const openai = new OpenAI({ baseURL: await throughProxy(url), apiKey });
    return async (messages) => {
      const { choices } = await openai.chat.completions.create({
        model: "gpt-5",
        messages: [...messages],
        ...sampling,
      });
      return choices[0]?.message.content ?? "";
    };
  },
  "OpenAI's chat completions at temperature 0": async ({ base_url: url, api_key: apiKey }) => {
    const openai = new OpenAI({ baseURL: await throughProxy(url), apiKey });
    return async (messages) => {
      const body = { model: "gpt-5", messages: [...messages], max_tokens: 12, temperature: 0 };
      return (await openai.chat.completions.create(body)).choices[0]?.message.content ?? "";
    };
  },
  "OpenAI's streamed responses": async ({ base_url: url, api_key: apiKey }) => {
    const openai = new OpenAI({ baseURL: await throughProxy(url), apiKey });
    return async (input) => {
      const body = { model: "gpt-5", input: [...input], max_output_tokens: 12, store: false };
      return (await openai.responses.stream(body).finalResponse()).output_text;
    };
  },
  "Anthropic's messages": async ({ anthropic_base_url: url, api_key: authToken }) => {
    const anthropic = new Anthropic({ baseURL: await throughProxy(url), authToken, apiKey: null });
    return async (messages) => {
      const body = { model: "claude-opus-4-6", messages: [...messages], max_tokens: 12 };
      const { content } = await anthropic.messages.create(body);
      return content.map((block) => (block.type === "text" ? block.text : "")).join("");
    };
  },
};

test("answers that were lost with their connections are replaced, and a job trains only on those received", async () => {
  const { modelId, send, create, finish, recorded } = await rolloutSessions(server(), "lost");
  let tokenCount = 0;
  for (const [index, [name, agent]] of Object.entries(agents).entries()) {
    const session = await create({ group: "all" });
    const ask = await agent(session);
    lossCount = 1;
    const first = await ask([{ role: "user", content: said[0] }]);
    assert.equal(lossCount, 0, name);
    await ask([
      { role: "user", content: said[0] },
      { role: "assistant", content: first },
      { role: "user", content: said[1] },
    ]);
    const path = `/v1/preview/models/${modelId}/rollouts/${session.rollout_id}`;
    const { calls, sequences } = await send("GET", path);
    const ids = calls.map(({ request_id: id }: { request_id: string }) => id);
    assert.deepEqual(
      calls.map(
        ({ replaced_by: by, is_delivered: is }: { replaced_by: string | null; is_delivered: boolean }) => [
          by,
          is,
        ],
      ),
      [
        [ids[1], true],
        [null, true],
        [null, true],
      ],
      name,
    );
    assert.deepEqual(
      sequences.map(({ answers }: { answers: object[] }) => answers),
      [ids.slice(1).map((id: string) => ({ request_id: id, choice: 0 }))],
      name,
    );
    for (const id of ids.slice(1)) tokenCount += (await recorded(id)).token_ids.length;
    await finish(session, index % 2);
  }
  const { id } = await send("POST", "/v1/preview/training-jobs", { model_id: modelId, rollouts: {} });
  const { counts } = await eventually("the job succeeds", async () => {
    const job = await send("GET", `/v1/preview/training-jobs/${id}`);
    return job.state === "succeeded" ? job : null;
  });
  assert.equal(counts.trainable_tokens, tokenCount);
});
