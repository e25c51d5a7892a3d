// Runs the trainer's contract tests on the SkyRL server at TRAINER_URL. Its base model TRAINER_BASE is the contract's
// tiny model.
import { losses } from "../../../dist/src/train/trainer/contract/check-numbers.js";
import { checkTrainer } from "../../../dist/src/train/trainer/contract/check-trainer.js";
import { tinyConfig, tinyLora } from "../../../dist/src/train/trainer/contract/tiny-model.js";
import { systemClock } from "../../../dist/src/base/domain/clock.js";
import { TinkerTrainers } from "../../../dist/src/train/trainer/tinker/tinker-trainers.js";

const { TRAINER_URL: url, TRAINER_BASE: base } = process.env;

/** @returns trainers that unload their models after each test, because the server has memory for only a few */
function skyrl(_dataFolder, context) {
  const trainers = new TinkerTrainers({
    address: { url, kind: "skyrl-jax", bases: { "*": base }, adapters: null },
    apiKey: "any",
    config: tinyConfig,
    baseModelName: "tiny",
    rank: tinyLora.rank,
    sequenceLengthMax: 10,
    clock: systemClock,
    futureLimits: { pauseMs: 20 },
  });
  const opened = [];
  context.after(() => Promise.all(opened.map((trainer) => trainer.close())));
  return {
    profile: trainers.profile,
    sequenceLengthMax: trainers.sequenceLengthMax,
    discard: (state) => trainers.discard(state),
    open: async (start, run) => {
      const trainer = await trainers.open(start, run);
      opened.push(trainer);
      return trainer;
    },
  };
}

checkTrainer("SkyRL's JAX backend", skyrl, losses);
