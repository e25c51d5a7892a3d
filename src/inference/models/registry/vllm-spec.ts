// Parses an operator's specification of a base model that vLLM servers compute, such as
// `name=vllm+http://a:8000,http://b:8000?files=/models/qwen3`.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { requirePlainFiles } from "../../../store/artifacts/plain-files.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { baseInFolder, type NamedBase } from "./named-base.ts";

/** Joins the URLs of one model again after the list of models was split at commas. */
export function joinServerUrls(named: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const text of named) {
    const before = joined.at(-1);
    if (/^https?:\/\//.test(text) && before !== undefined && isVllmSpec(before))
      joined[joined.length - 1] = `${before},${text}`;
    else joined.push(text);
  }
  return joined;
}

export function isVllmSpec(text: string): boolean {
  return /^(?:[^=/]*=)?vllm\+https?:\/\//.test(text);
}

/**
 * Parses the specification of one model. If its tokenizer and configuration files are not found, the result has a
 * fault.
 *
 * @param folderOf returns the folder of an added model with the given name; null if there is no such model
 * @throws ServiceError `invalid`, naming the fault and the cure
 */
export function parseVllmSpec(text: string, folderOf: (name: string) => string | null): NamedBase {
  const split = text.indexOf("=vllm+");
  if (split < 1)
    throw invalid(`${text} has no name; use --model name=${text}, with the name that requests will use.`);
  const name = text.slice(0, split);
  if (!/^[\w.-]{1,128}$/.test(name))
    throw invalid(
      `${JSON.stringify(name)} is no name for a base model: letters, digits, "_", "-" and "." only, up to 128.`,
    );
  const urls = text
    .slice(split + "=vllm+".length)
    .split(",")
    .map((url) => readUrl(url, name));
  const given = [...new Set(urls.flatMap((url) => url.searchParams.getAll("files")))];
  const places = urls.map((url) => {
    url.search = "";
    return url.href.replace(/\/$/, "");
  });
  const twice = places.find((place, index) => places.indexOf(place) !== index);
  if (twice !== undefined) throw invalid(`${name} names the vLLM server ${twice} twice; name it once.`);
  if (given.length > 1) throw invalid(`${name} names several folders: ${given.join(", ")}; name one.`);
  const base = { name, engine: { kind: "vllm", urls: places } } as const;
  return baseInFolder(base, given[0] ?? "", () => folderNamed(name, given[0], folderOf));
}

function readUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw invalid(
      `${name} names ${JSON.stringify(text)}, which is no http:// or https:// URL of a vLLM server.`,
    );
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw invalid(
      `${name} names a vLLM server with a user, a password or a fragment; put its key into HONE_REMOTE_API_KEY.`,
    );
  const unknown = [...url.searchParams.keys()].find((key) => key !== "files");
  if (unknown !== undefined)
    throw invalid(
      `${name} names ${unknown} of a vLLM server; only \`files\`, the folder of the model's files, is supported.`,
    );
  return url;
}

/** Returns the folder that holds the model's tokenizer, template and configuration. */
function folderNamed(
  name: string,
  given: string | undefined,
  folderOf: (name: string) => string | null,
): string {
  const folder = given === undefined ? folderOf(name) : resolve(given);
  const cure =
    "Name a folder with its config.json, tokenizer.json and chat template (weights are not needed): " +
    `--model ${name}=vllm+http://host:8000?files=/folder; or add the model under this name: \`hone models add owner/name --name ${name} --without-weights\`.`;
  if (folder === null)
    throw invalid(`The files of ${name}, which vLLM computes, are not known here. ${cure}`);
  if (!existsSync(join(folder, "config.json"))) throw invalid(`${folder} has no config.json. ${cure}`);
  requirePlainFiles(folder);
  return folder;
}
