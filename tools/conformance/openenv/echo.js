// Plays one episode of the echo environment of OpenEnv's template with this checkout's client.
import assert from "node:assert/strict";
import { openEnv } from "../../../dist/client/index.js";

const env = await openEnv(process.env.ENVIRONMENT_URL);
const first = await env.reset({ seed: 1, episode_id: "conformance" });
assert.deepEqual([first.reward, first.done], [0, false]);
const answer = await env.step({ message: "héllo 🙂" });
assert.equal(answer.observation.echoed_message, "héllo 🙂");
assert.deepEqual([answer.reward, answer.metadata.step], [0.7000000000000001, 1]);
assert.deepEqual(await env.state(), { episode_id: "conformance", step_count: 1 });
assert.deepEqual((await env.schema()).action.required, ["message"]);
const long = "x".repeat(1_000_000);
assert.equal((await env.step({ message: long })).observation.echoed_message, long);
await assert.rejects(env.step({}), { code: "validation_error" });

// The template's server has one session.
const second = await openEnv(process.env.ENVIRONMENT_URL);
await assert.rejects(second.reset(), { code: "capacity_reached", message: /1\/1 sessions active/ });
await env.close();
const third = await openEnv(process.env.ENVIRONMENT_URL);
await third.reset();
await third.close();
console.log("the echo environment answers as expected");
