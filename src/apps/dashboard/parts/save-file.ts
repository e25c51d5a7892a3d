// Hands bytes to the browser as a file to keep. They pass through memory: an adapter is some megabytes.

export async function saveFile(bytes: AsyncIterable<Uint8Array>, name: string): Promise<void> {
  const parts: BlobPart[] = [];
  for await (const part of bytes) parts.push(part as Uint8Array<ArrayBuffer>);
  const address = URL.createObjectURL(new Blob(parts, { type: "application/x-tar" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The download has its own hold on the bytes.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
