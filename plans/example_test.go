package plans_test

import (
	"fmt"

	"sluice/plans"
)

// From a gateway's request to the names of the states that are to be charged.
func Example() {
	file, err := plans.ParseFile("sluice.yaml", []byte(`
plans:
  pro:
    limits:
      rpm:   {algorithm: sliding_counter, limit: 600, window: 1m}
      spend: {algorithm: budget, limit: 25.00, window: day, tz: Europe/Paris}
    overrides: {"api|api_key:acme*": {rpm: {limit: 5000}}}
rules:
  - {name: api, match: "/api/", per: api_key, plan: pro}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	book, err := plans.NewBook(file, plans.Set{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := book.Match(nil, &plans.Request{Method: []byte("POST"), Path: []byte("//api/orders?page=2")})
	for _, rule := range rules {
		key, anonymous, err := book.AppendKey(nil, rule, &plans.Identity{APIKey: []byte("acme-7")})
		if err != nil {
			fmt.Println(err)
			return
		}
		limits := book.PlanOf(rule, anonymous).For(key)
		for i := range limits {
			l := &limits[i]
			state := append(plans.AppendStateBase(nil, key), l.Suffix...)
			fmt.Printf("%s: %d per %s %s\n", state, l.Units, plans.AppendWindow(nil, &l.Limit), l.Override)
		}
	}
	// Output:
	// {api|api_key:acme-7}#rpm: 5000 per 1m api|api_key:acme*
	// {api|api_key:acme-7}#spend: 25000000 per day
}

// A wrong text is shown in place.
func ExampleError() {
	_, err := plans.ParsePlan("pro", []byte("limits:\n  rpm: {algorithm: token_buket, limit: 600, window: 1m}\n"))
	fmt.Println(err.(*plans.Error).Detail())
	// Output:
	// limits.rpm.algorithm: unknown algorithm 'token_buket', did you mean 'token_bucket'? (line 2, column 20)
	//     2 |   rpm: {algorithm: token_buket, limit: 600, window: 1m}
	//       |                    ^
}
