// Trains a model on an OpenEnv environment with the function `train` of this checkout's client. Prints the mean rewards as JSON.
import { Hone, openEnv, train } from "../../../dist/client/index.js";

const environment = process.env.ENVIRONMENT_URL;
const model = await new Hone().model("open-env/speller", { base: "hone-tiny" });
const rewards = [];

await train(model, {
  tasks: [1, 2, 3, 4],
  rollout: async (seed, { chat, signal }) => {
    const env = await openEnv(environment, { signal });
    try {
      const messages = [];
      let reward = 0;
      let step = await env.reset({ seed });
      while (!step.done) {
        messages.push({ role: "user", content: step.observation.prompt });
        const { choices } = await chat({ messages, max_tokens: 40 });
        messages.push(choices[0].message);
        step = await env.step({ answer: choices[0].message.content });
        reward += step.reward ?? 0;
      }
      return reward;
    } finally {
      await env.close();
    }
  },
  rounds: Number(process.env.ROUNDS),
  onRound: ({ round, reward }) => {
    rewards.push(reward);
    console.error(`round ${round}: mean reward ${reward.toFixed(2)}`);
  },
});
console.log(JSON.stringify(rewards));
