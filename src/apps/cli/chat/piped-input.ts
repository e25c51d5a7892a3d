// Adds piped input to a question: `git diff | hone chat "What changed?"`.
import { fstatSync } from "node:fs";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** Maximum size of the piped input in bytes. */
const bytesMax = 16 * 1024 * 1024;

/**
 * Returns the question followed by the text of standard input. If the question contains the word `-`, the text replaces
 * this word. Otherwise reads only a pipe or a redirected file of a shell, because another parent process may never
 * close its pipe.
 *
 * @throws ServiceError `too_large` if the input exceeds 16 MiB
 */
export async function withInput(
  question: string,
  input: NodeJS.ReadStream & { readonly fd: 0 } = process.stdin,
): Promise<string> {
  const words = question.split(" ");
  const isAsked = words.includes("-");
  if (!isAsked && !isPiped(input)) return question;
  const text = (await textOf(input)).trim();
  if (isAsked) return words.map((word) => (word === "-" ? text : word)).join(" ");
  return text === "" ? question : `${question}\n\n${text}`;
}

function isPiped({ fd }: { readonly fd: number }): boolean {
  try {
    const found = fstatSync(fd);
    return found.isFIFO() || found.isFile();
  } catch {
    // `fstat` fails if standard input is closed.
    return false;
  }
}

async function textOf(input: AsyncIterable<Buffer | string>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input) {
    const bytes = Buffer.from(piece);
    length += bytes.length;
    if (length > bytesMax)
      throw new ServiceError({
        code: "too_large",
        message: `Standard input has more than ${bytesMax / 2 ** 20} MiB, the limit for a question. Send a part of it.`,
      });
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString("utf8");
}
