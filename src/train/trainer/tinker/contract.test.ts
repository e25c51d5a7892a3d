// Runs the trainer contract with each kind of Tinker server. The server is a stub that computes with the embedded
// trainer, so losses, norms and adapters must equal those of the embedded trainer itself.
import { type TestContext, test } from "node:test";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { losses } from "../contract/check-numbers.ts";
import { checkTrainer } from "../contract/check-trainer.ts";
import { tinyBatchFor } from "../contract/tiny-model.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  flat,
  tinyTrainers,
} from "../contract/trainers-under-test.ts";
import type { Loss, TrainerProvider } from "../trainer.ts";
import { tinkerProfile } from "./profile.ts";
import { seedOf } from "./tinker-trainers.ts";
import { type ServerKindName, serverKindNames } from "./server-kinds.ts";
import { tinyTinker } from "./testing/tiny-tinker.ts";

/** Returns trainers of a server of this kind. The server starts when it is first used. */
function trainersOf(kind: ServerKindName): MakeTrainers {
  return (dataFolder, context) => {
    const { server, trainersAt } = tinyTinker(kind, dataFolder, context);
    let starting: Promise<TrainerProvider> | null = null;
    const started = (): Promise<TrainerProvider> =>
      (starting ??= server.start().then((url) => trainersAt(url)));
    return {
      profile: tinkerProfile({ kind }),
      sequenceLengthMax: 10,
      open: async (start, run) => (await started()).open(start, run),
      discard: async (state) => (await started()).discard(state),
    };
  };
}

for (const kind of searchedOf(serverKindNames, 1, "kinds of servers"))
  checkTrainer(`a Tinker server, ${kind}`, trainersOf(kind), searchedOf(losses, 1, kind));

interface Outcome {
  readonly losses: readonly number[];
  readonly norms: readonly number[];
  readonly adapter: readonly number[];
}

/**
 * Trains three steps; the third one uses other data. Uses neither clipping nor weight decay, because some servers lack
 * them.
 */
async function train(make: MakeTrainers, seed: string, loss: Loss, t: TestContext): Promise<Outcome> {
  const bench = new TrainerBench(make, t);
  const trainer = await bench.openAt({ kind: "new", seed });
  const lossValues: number[] = [];
  const norms: number[] = [];
  const all = tinyBatchFor(loss);
  for (const batch of [all, all, all.slice(2)]) {
    lossValues.push((await trainer.forwardBackward(batch, loss, bench.call())).loss);
    const step = { ...adamStep, gradientNormMax: 0, weightDecay: 0 };
    const { metrics } = await trainer.optimStep(step, bench.call());
    norms.push(metrics["gradient_norm"]);
  }
  return { losses: lossValues, norms, adapter: flat((await bench.export(trainer)).adapter) };
}

const embedded: MakeTrainers = (dataFolder, context) => {
  const trainers = tinyTrainers({ dataFolder, microbatchTokens: 1000 });
  context.after(() => trainers.close());
  return trainers;
};

const others = serverKindNames.filter((kind) => kind !== "skyrl-jax");
// Uses the one kind of server that computes the mean of the losses, and other kinds, which compute the sum.
for (const [index, loss] of searchedOf(losses, 4, "three steps").entries())
  test(`three steps with loss ${losses.indexOf(loss)} have the same results as on the embedded trainer`, async (t) => {
    const [kind] =
      index % 2 === 0 ? ["skyrl-jax" as const] : searchedOf(others, 1, `${losses.indexOf(loss)}`);
    const actual = await train(trainersOf(kind), "twin", loss, t);
    // The server initializes its adapter with the integer seed that the client sends, so this trainer must use the same
    // seed.
    const expected = await train(embedded, `${seedOf("twin")}`, loss, t);
    assertClose(actual.losses, expected.losses, 1e-5);
    assertClose(actual.norms, expected.norms, 1e-4);
    assertClose(actual.adapter, expected.adapter, 1e-3);
  });
