// Searches for words in recorded chats over HTTP.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";
import {
  sampleCompletion,
  sampleContent,
  samplePrompt,
} from "../../../../store/database/contract/completion-store.ts";
import { bearer, fakeServer, keys, registeredModel } from "../../testing/fake-server.ts";

test("finds recorded chats of the caller's entity by words of prompts, answers and tool calls", async () => {
  // The time stands still, so no search reaches its time limit on a busy machine.
  const server = await fakeServer({ clock: new FakeClock() });
  const modelId = await registeredModel(server);
  const [choice] = sampleContent().choices;
  const completion = (requestId: string, question: string, answer: string) => ({
    ...sampleCompletion(requestId, { projectId: "acme/p", modelId, metadata: { topic: requestId } }),
    content: sampleContent({
      prompt: samplePrompt("Be brief.", question),
      choices: [{ ...choice, text: answer, reasoning: `thought ${requestId}` }],
    }),
  });
  await server.completions.add([
    completion("a", "Where is my Zebra?", "In the ZOO."),
    completion("b", "Where is the zoo?", "Far away."),
    completion("c", "Who are you?", "A zebra."),
  ]);
  const find = async (query: string, key: string = keys.member) => {
    const url = `/v1/chat/completions?${query}`;
    const answer = await server.ask({ url, headers: { authorization: bearer(key) } });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<{ data: { request_id: string }[] }>().data.map(({ request_id: id }) => id);
  };
  assert.deepEqual(await find("text=zebra"), ["a", "c"]);
  assert.deepEqual(await find("text=zebra&order=desc&limit=1"), ["c"]);
  assert.deepEqual(await find("text=zebra%20zoo&project=acme/p"), ["a"]);
  assert.deepEqual(await find("text=thought&metadata[topic]=b"), ["b"]);
  assert.deepEqual(await find("text=weather"), ["a", "b", "c"]);
  assert.deepEqual(await find("text=temperature"), []);
  assert.deepEqual(await find("text=zebra", keys.other), []);
  const refused = await server.ask({
    url: "/v1/chat/completions?text=%20",
    headers: { authorization: bearer(keys.member) },
  });
  assert.equal(refused.statusCode, 422);
  await server.close();
});
