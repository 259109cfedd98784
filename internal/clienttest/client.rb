# redis-rb, as its own quick start has it, with HOST, PORT, PASSWORD, CA and KEY in the
# environment. It prints the client's version; anything on standard error is a fault.
require "redis"

CALLS = 1000
key = ENV.fetch("KEY")
options = { host: ENV.fetch("HOST"), port: ENV.fetch("PORT").to_i }
options[:password] = ENV["PASSWORD"] unless ENV["PASSWORD"].to_s.empty?
options.update(host: "localhost", ssl: true, ssl_params: { ca_file: ENV["CA"] }) unless ENV["CA"].to_s.empty?
client = Redis.new(**options)
raise "no PONG" unless client.ping == "PONG"
answers = client.pipelined do |pipe|
  (CALLS + 1).times { pipe.call("RL.ALLOW", key, "fixed_window", CALLS.to_s, "52w") }
end
answers.each_with_index do |d, i|
  want = i < CALLS ? [1, CALLS, CALLS - 1 - i] : [0, CALLS, 0]
  raise "call #{i} is answered #{d}" unless d.first(3) == want
end
begin
  client.call("RL.ALLOW", key, "nosuch", "1", "1s")
  raise "a wrong call is no error"
rescue Redis::CommandError => e
  raise unless e.message.include?("unknown algorithm 'nosuch'")
end
client.close
puts Redis::VERSION
