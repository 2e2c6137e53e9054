/** Connects clients to ports of a host with two addresses, and prints what became of each. */
import { connect, HttpClient, KvClient, ShardClient, SqlClient } from '../../../dist/index.js';

const [http, http2, redis, mysql] = process.argv.slice(2).map((port) => `two-addresses.test:${port}`);

async function status(client, work) {
  const { status: code } = await work(client);
  await client.close();
  return code;
}
async function closed(connecting) {
  await (await connecting).close();
  return 'connected';
}
const code = (connecting) => connecting.then(closed, (error) => error.code);

const request = (client) => client.request({ path: '/' });
const outcomes = {
  HttpClient: await status(new HttpClient(`http://${http}`), request),
  'HttpClient.stream': await status(new HttpClient(`http://${http}`), (client) => client.stream({ path: '/' })),
  'HttpClient of HTTP/2': await status(new HttpClient(`http://${http2}`, { http2: true }), request),
  KvClient: await closed(KvClient.connect(`redis://${redis}`)),
  SqlClient: await closed(SqlClient.connect(`mysql://me@${mysql}/`)),
  ShardClient: await code(ShardClient.connect([`http://${http2}`])),
  'the engine mysql': await code(connect(`mysql://me@${mysql}/`)),
  'the engine flight': await code(connect(`flight://${http2}`).then((opened) => opened.executeQuery('SELECT 1'))),
};
console.log(JSON.stringify(outcomes));
process.exit(0);
