-- Requests meet their answers; what is no message is passed over; a lost connection answers all.
local peer = require("trimpoint.rpc.peer")

local sent, heard = {}, {}
local one = peer.new(function(bytes)
  sent[#sent + 1] = bytes
end, {
  on_notification = function(method, params)
    heard[#heard + 1] = { method, params }
  end,
  on_question = function(id, method)
    heard[#heard + 1] = { id, method }
  end,
})

local answers = {}
local function note(name)
  return function(refusal, result)
    answers[name] = { refusal, result }
  end
end

one:request("first", nil, note("first"))
one:request("second", { text = "a\255b", list = {} }, note("second"))
assert(sent[1]:find('"params":{}', 1, true), "empty params are an object")
assert(sent[2]:find("a\239\191\189b", 1, true), "what is no UTF-8 is not sent")
assert(sent[2]:sub(-1) == "\n")

one:receive('{"id":2,"result":{"x":null,"y":{}}}\nno json\n[1]\n7\n{"id":99,"result":{}}\n')
assert(answers.second[1] == nil and answers.second[2].x == nil)
assert(vim.json.encode(answers.second[2].y) == "{}", "an empty object stays one when it is sent back")
one:receive('{"id":1,"error":{"code":-1,"message":"no","data":{"reason":"usage","hint":"yes"}}}\n')
assert(answers.first[1].message == "no" and answers.first[1].reason == "usage")
assert(answers.first[1].hint == "yes")

one:receive('{"method":"note","params":{"a":1}}\n{"id":"q1","method":"ask"}\n')
assert(vim.deep_equal(heard, { { "note", { a = 1 } }, { "q1", "ask" } }))
one:answer("q1", { decision = "accept" })
assert(vim.deep_equal(vim.json.decode(sent[3]), { id = "q1", result = { decision = "accept" } }))

one:request("third", nil, note("third"))
one:close()
assert(answers.third[1].reason == "disconnected")
one:request("fourth", nil, note("fourth"))
assert(answers.fourth[1].reason == "disconnected", "a closed peer answers at once")
assert(#sent == 4, "a closed peer sends nothing")
