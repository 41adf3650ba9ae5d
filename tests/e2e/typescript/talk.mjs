// What every client does: connect, list the tools, make the calls, and print what came of it as one line of JSON.

/**
 * @param client     not yet connected
 * @param Transport  the class of the client's own package that starts a server and speaks over its pipes
 * @param calls      [tool, arguments] pairs
 * @param server     the command line of the server
 */
export async function talk(client, Transport, calls, server) {
  const [command, ...args] = server;
  await client.connect(new Transport({ command, args, env: process.env }));
  const { tools } = await client.listTools(); // from here on the client checks answers against the output schemas
  const results = [];
  for (const [name, given] of calls) {
    results.push(await client.callTool({ name, arguments: given }).catch((error) => ({ threw: String(error) })));
  }
  const revision = client.getNegotiatedProtocolVersion?.() ?? null;
  const told = { server: client.getServerVersion(), instructions: client.getInstructions(), revision, tools, results };
  await client.close();
  process.stdout.write(JSON.stringify(told) + "\n");
}
